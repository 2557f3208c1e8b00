// Command kubernetes holds the parts of a cluster in one program and acts as the part whose name it was called by.
//
// devcluster builds it once and links it under each name: etcd, kube-apiserver, kube-controller-manager, kube-scheduler,
// kubectl, the image registry, and devcluster-certificates, which makes the keys of a cluster. One program instead of
// seven is a seventh of the linking and of the disk, and what they share is compiled once.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	kubectl "k8s.io/kubectl/pkg/cmd"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
)

func main() {
	var command *cobra.Command
	switch name := filepath.Base(os.Args[0]); name {
	case "etcd":
		etcdmain.Main(os.Args)
		return
	case "devcluster-certificates":
		if err := writeCertificates(os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	case "kube-apiserver":
		command = apiserver.NewAPIServerCommand()
	case "kube-controller-manager":
		command = controllermanager.NewControllerManagerCommand()
	case "kube-scheduler":
		command = scheduler.NewSchedulerCommand()
	case "kubectl":
		command = kubectl.NewDefaultKubectlCommand()
	case "registry":
		runRegistry()
		return
	default:
		fmt.Fprintf(os.Stderr, "%s: call it as etcd, kube-apiserver, kube-controller-manager, kube-scheduler, kubectl, registry or devcluster-certificates\n", name)
		os.Exit(2)
	}
	os.Exit(cli.Run(command))
}
