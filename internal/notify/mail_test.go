package notify_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/avax-exporter/avax-exporter/internal/notify"
	"github.com/avax-exporter/avax-exporter/internal/testworld"
)

// tryMail sends a test e-mail to smarthost, a name for the server that serve simulates.
func tryMail(t *testing.T, smarthost, settings string, serve func(net.Conn)) error {
	t.Helper()
	listens := listening(t, serve)
	trials, err := notify.Try(t.Context(), notify.Config{
		Text: []byte("route: {receiver: mail}\nreceivers: [{name: mail, email_configs: [{to: a@example.org, from: b@example.org, smarthost: '" + smarthost +
			"', auth_username: u, auth_password: c4n4ry, " + settings + "}]}]"),
		URL: "http://exporter.example",
		Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
			if address != smarthost {
				t.Errorf("connects to %s, want %s", address, smarthost)
			}
			return new(net.Dialer).DialContext(ctx, network, listens)
		},
	}, true)
	if err != nil || len(trials) != 1 {
		t.Fatalf("%v, %v", trials, err)
	}
	return trials[0].Err
}

// net/smtp keeps a line of any length in memory.
func TestAnswersOfAMailServerAreBounded(t *testing.T) {
	for name, text := range map[string]string{"line": "x", "list of extensions": "250-x\r\n"} {
		text = strings.Repeat(text, 8<<10)
		var sent atomic.Int64
		err := tryMail(t, "mail.example.org:587", "", func(conn net.Conn) {
			for _, err := io.WriteString(conn, "220 mail.example.org\r\n250-"); err == nil; _, err = io.WriteString(conn, text) {
				sent.Add(int64(len(text)))
			}
		})
		if err == nil || !strings.Contains(err.Error(), "more than 256 KiB") {
			t.Errorf("%s: %v", name, err)
		}
		if mb := sent.Load() >> 20; mb > 32 { // the system has buffers of several megabytes
			t.Errorf("%s: the server could send %d MB", name, mb)
		}
	}
}

// A password leaves this machine only encrypted, and only to the server of this name.
func TestMailPasswordNeedsTLSAndTheNameOfTheServer(t *testing.T) {
	server := httptest.NewTLSServer(nil)
	t.Cleanup(server.Close)
	ca := testworld.File(t, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})))
	for name, c := range map[string]struct {
		smarthost, settings string
		encrypted           bool
		authenticates       bool
	}{
		"no TLS":               {"mail.example.org:25", "require_tls: false", false, false},
		"no TLS, this machine": {"localhost:25", "require_tls: false", false, true},
		"implicit TLS":         {"example.com:465", "tls_config: {ca_file: " + ca + "}", true, true},
		"another port":         {"example.com:2465", "force_implicit_tls: true, tls_config: {ca_file: " + ca + "}", true, true},
		"certificate of another": {
			"mail.example.org:465", "tls_config: {ca_file: " + ca + "}", true, false,
		},
	} {
		var authenticated atomic.Bool
		err := tryMail(t, c.smarthost, c.settings, func(conn net.Conn) {
			if c.encrypted {
				conn = tls.Server(conn, server.TLS)
			}
			_, _ = io.WriteString(conn, "220 mail\r\n")
			for in := bufio.NewScanner(conn); in.Scan(); {
				answer := "250-mail\r\n250 AUTH PLAIN\r\n"
				if strings.HasPrefix(in.Text(), "AUTH") {
					authenticated.Store(true)
					answer = "535 no\r\n"
				}
				_, _ = io.WriteString(conn, answer)
			}
		})
		if err == nil || authenticated.Load() != c.authenticates {
			t.Errorf("%s: password sent: %v, want %v; %v", name, authenticated.Load(), c.authenticates, err)
		}
	}
}

// Before an alert needs it, the mail server says whether it accepts the login. No message begins.
func TestProbeLogsInAtTheMailServer(t *testing.T) {
	for login, want := range map[string]string{"235 welcome": "<nil>", "535 wrong": `535 "wrong"`} {
		listens := listening(t, func(conn net.Conn) {
			_, _ = io.WriteString(conn, "220 mail.example.org\r\n")
			for in := bufio.NewScanner(conn); in.Scan(); {
				answer := "250 ok"
				switch verb, _, _ := strings.Cut(in.Text(), " "); verb {
				case "EHLO":
					answer = "250-mail.example.org\r\n250 AUTH PLAIN"
				case "AUTH":
					answer = login
				case "QUIT", "*":
				default:
					t.Errorf("the server gets %s", in.Text())
				}
				_, _ = io.WriteString(conn, answer+"\r\n")
			}
		})
		results, err := notify.Try(t.Context(), notify.Config{Text: []byte("route: {receiver: mail}\nreceivers: [{name: mail, email_configs: [{to: a@example.org, from: b@example.org, " +
			"smarthost: '" + strings.Replace(listens, "127.0.0.1", "localhost", 1) + "', require_tls: false, auth_username: u, auth_password: c4n4ry}]}]")}, false)
		if err != nil || len(results) != 1 || !strings.Contains(fmt.Sprint(results[0].Err), want) || strings.Contains(fmt.Sprint(results[0].Err), "c4n4ry") {
			t.Errorf("%s: %v, %v", login, results, err)
		}
	}
}
