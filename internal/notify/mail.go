package notify

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/alertmanager/alert"
	amconfig "github.com/prometheus/alertmanager/config"
	"github.com/prometheus/alertmanager/notify/email"
	"github.com/prometheus/alertmanager/template"
	httpconfig "github.com/prometheus/common/config"
)

// mailer sends e-mails with Alertmanager's code over a connection that is closed when the context ends, and that is bounded in its answers.
// Alertmanager's code has no option for its connection, waits for a server without a limit, and keeps a line of any length. So the mailer
// connects to the server itself, and passes on what a listener on this machine receives from Alertmanager's code.
type mailer struct {
	config *amconfig.EmailConfig
	texts  *template.Template
	log    *slog.Logger
	dial   func(ctx context.Context, network, address string) (net.Conn, error)
}

// Notify implements notify.Notifier.
func (m *mailer) Notify(ctx context.Context, alerts ...*alert.Alert) (retry bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	server, err := m.dial(ctx, "tcp", m.config.Smarthost.String())
	if err != nil {
		return true, fmt.Errorf("connect: %w", err)
	}
	defer server.Close()
	relay, err := net.ListenTCP("tcp4", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		return true, err
	}
	defer relay.Close()
	var passing sync.WaitGroup
	var answer error // why the answers ended
	passing.Go(func() {
		client, err := relay.Accept()
		_ = relay.Close()
		if err != nil {
			return
		}
		context.AfterFunc(ctx, func() { _, _ = client.Close(), server.Close() })
		passing.Go(func() {
			_, _ = io.Copy(server, client)
			_ = server.Close()
		})
		_, answer = io.Copy(client, server)
		_ = client.Close()
	})
	retry, err = email.New(m.through(relay.Addr()), m.texts, m.log).Notify(ctx, alerts...)
	cancel()
	_ = relay.Close()
	passing.Wait()
	if err != nil && errors.Is(answer, errTooLong) {
		err = answer
	}
	return retry, err
}

// ask does what a notification does up to the login, and ends the connection: Alertmanager's code reads the sender's address only then, and there is
// none.
func (m *mailer) ask(ctx context.Context) error {
	c := *m.config
	c.From = ""
	one := *m
	one.config = &c
	if _, err := one.Notify(ctx, testAlert(time.Now())); err != nil && !strings.Contains(err.Error(), "'from'") {
		return fmt.Errorf("ask the mail server: %w: correct smarthost, auth_username or the password", err)
	}
	return nil
}

// through returns the configuration with the address of the relay in place of the server's. The certificate must be that of the server.
func (m *mailer) through(relay net.Addr) *amconfig.EmailConfig {
	c := *m.config
	c.TLSConfig = &httpconfig.TLSConfig{}
	if m.config.TLSConfig != nil {
		*c.TLSConfig = *m.config.TLSConfig
	}
	if c.TLSConfig.ServerName == "" {
		c.TLSConfig.ServerName = c.Smarthost.Host
	}
	if c.ForceImplicitTLS == nil {
		implicit := c.Smarthost.Port == "465"
		c.ForceImplicitTLS = &implicit
	}
	switch c.Smarthost.Host {
	case "localhost", "127.0.0.1", "::1":
		c.Smarthost.Host = "127.0.0.1"
	default: // net/smtp sends a password without TLS to 127.0.0.1, but not to another spelling of this address
		c.Smarthost.Host = "::ffff:127.0.0.1"
	}
	c.Smarthost.Port = strconv.Itoa(relay.(*net.TCPAddr).Port)
	return &c
}
