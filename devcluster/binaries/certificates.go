package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// lifetime outlasts every local cluster; the start lies an hour back for machines whose clocks jump.
const lifetime = 10 * 365 * 24 * time.Hour

// pair is a certificate and the key it belongs to.
type pair struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

// writeCertificates fills the directory with all keys of one cluster: the cluster's authority and the API server's serving
// certificate for the given names and addresses, the authority and client of the aggregation layer, and the key that
// signs ServiceAccount tokens. After "--" come the names and addresses of a kubelet, which gets a serving certificate too,
// and the API server one to call it.
func writeCertificates(arguments []string) error {
	if len(arguments) < 2 {
		return fmt.Errorf("usage: devcluster-certificates DIRECTORY NAME-OR-ADDRESS... [-- NAME-OR-ADDRESS...]")
	}
	directory, hosts := arguments[0], arguments[1:]
	var kubelet []string
	if end := slices.Index(hosts, "--"); end >= 0 {
		hosts, kubelet = hosts[:end], hosts[end+1:]
	}
	authority, err := issue(directory, "ca", authorityTemplate("olm-suite-devcluster"), nil)
	if err != nil {
		return err
	}
	if _, err = issue(directory, "kube-apiserver", servingTemplate("kube-apiserver", hosts), authority); err != nil {
		return err
	}
	if kubelet != nil {
		if _, err = issue(directory, "kubelet", servingTemplate("kubelet", kubelet), authority); err != nil {
			return err
		}
		client := leafTemplate("kube-apiserver-kubelet-client", x509.ExtKeyUsageClientAuth)
		client.Subject.Organization = []string{"system:masters"}
		if _, err = issue(directory, "kube-apiserver-kubelet-client", client, authority); err != nil {
			return err
		}
	}
	// The aggregation layer trusts an authority of its own: one that also signed ordinary clients would let them pass for anybody.
	frontProxy, err := issue(directory, "front-proxy-ca", authorityTemplate("front-proxy-ca"), nil)
	if err != nil {
		return err
	}
	if _, err = issue(directory, "front-proxy-client", leafTemplate("front-proxy-client", x509.ExtKeyUsageClientAuth), frontProxy); err != nil {
		return err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	return writeKey(directory, "service-account", key)
}

func servingTemplate(name string, hosts []string) *x509.Certificate {
	template := leafTemplate(name, x509.ExtKeyUsageServerAuth)
	for _, host := range hosts {
		if address := net.ParseIP(host); address != nil {
			template.IPAddresses = append(template.IPAddresses, address)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	return template
}

func authorityTemplate(name string) *x509.Certificate {
	return &x509.Certificate{
		Subject:               pkix.Name{CommonName: name},
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		BasicConstraintsValid: true,
		IsCA:                  true,
	}
}

func leafTemplate(name string, usage x509.ExtKeyUsage) *x509.Certificate {
	return &x509.Certificate{
		Subject:     pkix.Name{CommonName: name},
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{usage},
	}
}

// issue makes a key and a certificate for it, signed by the parent or, without one, by itself, and writes NAME.key and NAME.crt.
func issue(directory, name string, template *x509.Certificate, parent *pair) (*pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template.SerialNumber, err = rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, err
	}
	template.NotBefore = time.Now().Add(-time.Hour)
	template.NotAfter = template.NotBefore.Add(lifetime)
	signer := &pair{template, key}
	if parent != nil {
		signer = parent
	}
	der, err := x509.CreateCertificate(rand.Reader, template, signer.certificate, &key.PublicKey, signer.key)
	if err != nil {
		return nil, err
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	block := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	if err := os.WriteFile(filepath.Join(directory, name+".crt"), block, 0o644); err != nil {
		return nil, err
	}
	return &pair{certificate, key}, writeKey(directory, name, key)
}

func writeKey(directory, name string, key *ecdsa.PrivateKey) error {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return err
	}
	block := pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der})
	return os.WriteFile(filepath.Join(directory, name+".key"), block, 0o600)
}
