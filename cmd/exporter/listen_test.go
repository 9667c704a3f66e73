package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/avax-exporter/avax-exporter/internal/testworld"
)

// certify: certify AUTHORITY NAME FILE — writes FILE.pem and FILE.key: a certificate for NAME and this machine, signed by an
// authority. It creates the authority as AUTHORITY.pem and AUTHORITY.key if needed.
func certify(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 3 {
		ts.Fatalf("usage: certify AUTHORITY NAME FILE")
	}
	authority := ts.MkAbs(args[0])
	root := &x509.Certificate{Subject: pkix.Name{CommonName: args[0]}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	if _, err := os.Stat(authority + ".pem"); err != nil {
		issue(ts, root, nil, authority, authority)
	}
	issue(ts, &x509.Certificate{
		Subject:     pkix.Name{CommonName: args[1]},
		DNSNames:    []string{args[1]},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}, root, authority, ts.MkAbs(args[2]))
}

// issue writes a certificate and its key. The certificate of an authority is self-signed.
func issue(ts *testscript.TestScript, template, by *x509.Certificate, authority, file string) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	ts.Check(err)
	template.SerialNumber = big.NewInt(time.Now().UnixNano())
	template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	signer := any(key)
	if by == nil {
		by = template
	} else {
		pair, err := tls.LoadX509KeyPair(authority+".pem", authority+".key")
		ts.Check(err)
		by, signer = pair.Leaf, pair.PrivateKey
	}
	der, err := x509.CreateCertificate(rand.Reader, template, by, key.Public(), signer)
	ts.Check(err)
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	ts.Check(err)
	ts.Check(os.WriteFile(file+".pem", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
	ts.Check(os.WriteFile(file+".key", pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}), 0o600))
}

// ask: ask URL ANSWER [trust=AUTHORITY] [cert=FILE] [user=NAME:PASSWORD] [tls=1.1] — requests a page once the port is open. It
// trusts one authority, shows one certificate, or uses an old version of TLS. ANSWER matches the status, followed by the name
// in the server's certificate if there is one, or the error of the request.
// server's certificate after it where there is one, or how the request failed.
func ask(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: ask URL ANSWER [OPTION=VALUE…]")
	}
	config := &tls.Config{RootCAs: x509.NewCertPool()}
	transport := &http.Transport{TLSClientConfig: config, DisableKeepAlives: true}
	req, err := http.NewRequestWithContext(context.Background(), http.MethodGet, args[0], nil)
	ts.Check(err)
	for _, option := range args[2:] {
		switch name, value, _ := strings.Cut(option, "="); name {
		case "trust":
			config.RootCAs.AppendCertsFromPEM([]byte(ts.ReadFile(value + ".pem")))
		case "cert":
			pair, err := tls.LoadX509KeyPair(ts.MkAbs(value+".pem"), ts.MkAbs(value+".key"))
			ts.Check(err)
			// Use the certificate for any issuer and any requested name.
			config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &pair, nil }
		case "tls":
			config.MinVersion, config.MaxVersion = tls.VersionTLS10, tls.VersionTLS11
		case "user":
			user, password, _ := strings.Cut(value, ":")
			req.SetBasicAuth(user, password)
		default:
			ts.Fatalf("no such option: %s", option)
		}
	}
	client := &http.Client{Transport: transport, Timeout: time.Until(testworld.Deadline(of(ts).t))}
	want := regexp.MustCompile(args[1])
	// Retry: until the exporter listens, it refuses connections. When it closes a connection, its rejection of a certificate may be lost.
	ts.Check(testworld.Poll(of(ts).t, func() error {
		var answer string
		if resp, err := client.Do(req); err != nil {
			answer = err.Error()
		} else {
			answer = strconv.Itoa(resp.StatusCode)
			if resp.TLS != nil {
				answer += " " + resp.TLS.PeerCertificates[0].Subject.CommonName
			}
			ts.Check(resp.Body.Close())
			if !want.MatchString(answer) { // an answer with a status is final
				ts.Fatalf("%s: %q, want %q", args[0], answer, want)
			}
		}
		if !want.MatchString(answer) {
			return fmt.Errorf("%s: %q, want %q", args[0], answer, want)
		}
		return nil
	}))
}

// activate: activate — runs the exporter with a socket of systemd's form until the script ends.
func activate(ts *testscript.TestScript, _ bool, _ []string) {
	held, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	defer held.Close()
	socket, err := held.(*net.TCPListener).File()
	ts.Check(err)
	defer socket.Close()

	var program string
	for _, dir := range filepath.SplitList(ts.Getenv("PATH")) {
		if file := filepath.Join(dir, "avax-exporter"); program == "" {
			if _, err := os.Stat(file); err == nil {
				program = file
			}
		}
	}
	command := exec.Command("sh", "-c", `LISTEN_PID=$$ LISTEN_FDS=1 exec "$0"`, program)
	command.ExtraFiles = []*os.File{socket} // file descriptor 3
	command.Stderr = ts.Stderr()
	for _, name := range []string{"PATH", "AVAX_NODES", "AVAX_LISTEN"} {
		command.Env = append(command.Env, name+"="+ts.Getenv(name))
	}
	ts.Check(command.Start())
	ts.Defer(func() {
		_ = command.Process.Signal(syscall.SIGTERM)
		_ = command.Wait()
	})
	ts.Setenv("AVAX_LISTEN", held.Addr().String())
}
