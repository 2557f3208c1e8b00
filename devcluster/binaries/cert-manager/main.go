// Command cert-manager runs the controllers, the CA injector or the webhook of cert-manager, out of cert-manager's module.
//
// cert-manager's own programs are modules of their own, which the proxy of Go modules does not offer. This one starts the same
// parts, and of the controllers those that a self-signed certificate needs: none calls an issuer elsewhere, or listens.
package main

import (
	"context"
	"crypto/tls"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"
	extensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	aggregator "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	manager "sigs.k8s.io/controller-runtime"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/cert-manager/cert-manager/internal/apis/config/shared"
	webhookconfig "github.com/cert-manager/cert-manager/internal/apis/config/webhook"
	"github.com/cert-manager/cert-manager/internal/webhook"
	certmanager "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	"github.com/cert-manager/cert-manager/pkg/controller"
	"github.com/cert-manager/cert-manager/pkg/controller/cainjector"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/approver"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/selfsigned"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/issuing"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/keymanager"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/readiness"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/requestmanager"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/revisionmanager"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/trigger"
	_ "github.com/cert-manager/cert-manager/pkg/controller/issuers"
	_ "github.com/cert-manager/cert-manager/pkg/issuer/selfsigned"
	"github.com/cert-manager/cert-manager/pkg/util"
	"github.com/cert-manager/cert-manager/pkg/webhook/admission"
)

const (
	namespace      = "cert-manager"
	authority      = "cert-manager-webhook-ca"
	host           = "localhost"
	workers        = 2
	minimumBackoff = time.Hour
	maximumBackoff = 32 * time.Hour
	leafLifetime   = 7 * 24 * time.Hour
	headerTimeout  = 32 * time.Second
)

func main() {
	flags := flag.NewFlagSet("cert-manager", flag.ExitOnError)
	kubeconfig := flags.String("kubeconfig", "", "the kubeconfig of the cluster")
	listen := flags.String("listen", "", "the address of the webhook, on the loopback interface")
	if len(os.Args) < 2 {
		log.Fatal("usage: cert-manager controller|cainjector|webhook --kubeconfig FILE [--listen ADDRESS]")
	}
	flags.Parse(os.Args[2:])
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	manager.SetLogger(klog.Background())
	var err error
	switch os.Args[1] {
	case "controller":
		err = runControllers(ctx, *kubeconfig)
	case "cainjector":
		err = runInjector(ctx, *kubeconfig)
	case "webhook":
		err = runWebhook(ctx, *kubeconfig, *listen)
	default:
		err = fmt.Errorf("unknown component %q", os.Args[1])
	}
	if err != nil && ctx.Err() == nil {
		log.Fatal(err)
	}
}

func runControllers(ctx context.Context, kubeconfig string) error {
	factory, err := controller.NewContextFactory(ctx, controller.ContextOptions{
		Kubeconfig:    kubeconfig,
		IssuerOptions: controller.IssuerOptions{ClusterResourceNamespace: namespace},
		CertificateOptions: controller.CertificateOptions{
			CertificateRequestMinimumBackoffDuration: minimumBackoff,
			CertificateRequestMaximumBackoffDuration: maximumBackoff,
		},
	})
	if err != nil {
		return err
	}
	informers, err := factory.Build()
	if err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	for name, build := range controller.Known() {
		built, err := build(factory)
		if err != nil {
			return fmt.Errorf("controller %s: %w", name, err)
		}
		group.Go(func() error { return built.Run(workers, ctx) })
	}
	informers.SharedInformerFactory.Start(ctx.Done())
	informers.KubeSharedInformerFactory.Start(ctx.Done())
	informers.HTTP01ResourceMetadataInformersFactory.Start(ctx.Done())
	return group.Wait()
}

func runInjector(ctx context.Context, kubeconfig string) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientscheme.AddToScheme, certmanager.AddToScheme, extensions.AddToScheme, aggregator.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			return err
		}
	}
	config = util.RestConfigWithUserAgent(config, "cainjector") // the field manager of what it writes
	built, err := manager.NewManager(config, manager.Options{
		Scheme:  scheme,
		Metrics: metricsserver.Options{BindAddress: "0"},
	})
	if err != nil {
		return err
	}
	err = cainjector.RegisterAllInjectors(ctx, built, cainjector.SetupOptions{
		EnableCertificatesDataSource: true,
		EnabledReconcilersFor: map[string]bool{
			cainjector.MutatingWebhookConfigurationName:   true,
			cainjector.ValidatingWebhookConfigurationName: true,
			cainjector.APIServiceName:                     true,
			cainjector.CustomResourceDefinitionName:       true,
		},
	})
	if err != nil {
		return err
	}
	return built.Start(ctx)
}

// cert-manager's server listens on all interfaces, so its handlers are served by another one.
func runWebhook(ctx context.Context, kubeconfig, address string) error {
	parts, err := webhook.NewCertManagerWebhookServer(klog.Background(), webhookconfig.WebhookConfiguration{
		KubeConfig: kubeconfig,
		TLSConfig: shared.TLSConfig{Dynamic: shared.DynamicServingConfig{
			SecretNamespace: namespace,
			SecretName:      authority,
			DNSNames:        []string{host},
			LeafDuration:    leafLifetime,
		}},
	})
	if err != nil {
		return err
	}
	handlers := http.NewServeMux()
	handlers.Handle("/mutate", admission.NewCustomMutationWebhook(parts.MutationWebhook))
	handlers.Handle("/validate", admission.NewCustomValidationWebhook(parts.ResourceScheme, parts.ValidationWebhook))
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	server := &http.Server{
		Handler:           handlers,
		ReadHeaderTimeout: headerTimeout,
		TLSConfig:         &tls.Config{GetCertificate: parts.CertificateSource.GetCertificate},
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return parts.CertificateSource.Start(ctx) })
	group.Go(func() error { return server.ServeTLS(listener, "", "") })
	group.Go(func() error {
		<-ctx.Done()
		return server.Close()
	})
	return group.Wait()
}
