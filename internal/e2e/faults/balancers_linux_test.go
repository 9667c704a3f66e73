package faults_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/avax-exporter/avax-exporter/internal/testworld"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
)

// balanced starts an exporter with two nodes, and returns the documented configuration that begins with a text, with their addresses in it.
func balanced(t *testing.T, begin string) (gates map[string]*gate, config string) {
	t.Helper()
	gates, nodes := gated(t, "alpha", "bravo")
	e := start(t, append(quickly("up", "heads", "bootstrap", "identity", "fleet"), nodes)...)
	e.Ready()
	text := must.Get(os.ReadFile("../../../docs/operating.md"))(t)
	block := regexp.MustCompile("(?s)```[a-z]*\n(" + begin + ".*?)```").FindSubmatch(text)
	if block == nil {
		t.Fatalf("docs/operating.md has no block that begins with %q", begin)
	}
	host, port, _ := strings.Cut(strings.TrimPrefix(e.URL, "http://"), ":")
	address := func(node string) string { return strings.TrimPrefix(gates[node].url(), "http://") }
	return gates, strings.NewReplacer("10.0.0.1:9650", address("alpha"), "10.0.0.2:9650", address("bravo"), "addr 10.0.0.9 port 9865", "addr "+host+" port "+port,
		"http://exporter:9865", e.URL, "$node:9650;", "127.0.0.1:9650; # $node").Replace(string(block[1]))
}

// HAProxy as documented takes a server away while the exporter says that clients cannot use its node.
func TestDocumentedHAProxyFollowsServing(t *testing.T) {
	testworld.Full(t)
	root := proxyRoot(t)
	gates, backend := balanced(t, "backend avalanche")
	file := filepath.Join(t.TempDir(), "config")
	write(t, file, "defaults\n  mode http\n  timeout connect 5s\n  timeout client 30s\n  timeout server 30s\nfrontend all\n  bind "+testworld.Address(t)+
		"\n  default_backend avalanche\n"+backend)
	out := runProxy(t, root, "usr/sbin/haproxy -db -f "+file)
	last := func(server, state string) func() error {
		return func() error {
			text, about := out.String(), "Server avalanche/"+server+" is "
			if i := strings.LastIndex(text, about); i < 0 || !strings.HasPrefix(text[i:], about+state) {
				return errors.New(text)
			}
			return nil
		}
	}
	gates["bravo"].shut()
	testworld.Await(t, "HAProxy takes bravo away", last("bravo", "DOWN"))
	gates["bravo"].open()
	testworld.Await(t, "HAProxy takes bravo back", last("bravo", "UP"))
	if strings.Contains(out.String(), "avalanche/alpha is DOWN") && last("alpha", "UP")() != nil {
		t.Errorf("alpha stays away:\n%s", out)
	}
}

// The documented script for nginx writes the servers that clients can use, and reloads nginx when they have changed.
func TestDocumentedScriptForNginxFollowsServing(t *testing.T) {
	testworld.Full(t)
	root := proxyRoot(t)
	gates, script := balanced(t, `for node in alpha bravo; do\n  curl -sS`)
	dir := t.TempDir()
	listen := testworld.Address(t)
	write(t, filepath.Join(dir, "servers.conf"), "server 127.0.0.1:1; # none\n")
	write(t, filepath.Join(dir, "config"), fmt.Sprintf("daemon off;\npid %[1]s/pid;\nevents {}\nhttp {\n  access_log off;\n"+
		"  client_body_temp_path %[1]s/body; proxy_temp_path %[1]s/proxy;"+
		" fastcgi_temp_path %[1]s/fastcgi; uwsgi_temp_path %[1]s/uwsgi; scgi_temp_path %[1]s/scgi;\n  upstream avalanche { include %[1]s/servers.conf; }\n"+
		"  server { listen %[2]s; location / { proxy_pass http://avalanche; } }\n}\n", dir, listen))
	nginx := fmt.Sprintf("usr/sbin/nginx -p %[1]s -e %[1]s/error.log -c %[1]s/config", dir)
	runProxy(t, root, nginx)
	testworld.Await(t, "nginx runs", func() error { _, err := os.Stat(filepath.Join(dir, "pid")); return err })
	follow := func() string {
		command := exec.Command("sh", "-c", "nginx() { "+filepath.Join(root, nginx)+` "$@" && echo reloaded; }`+"\n"+script+"\ntrue")
		command.Dir = dir
		command.Env = append(os.Environ(), "LD_LIBRARY_PATH="+filepath.Join(root, "usr/lib/x86_64-linux-gnu"))
		out, err := command.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return string(out)
	}
	servers := func(names ...string) func() error {
		return func() error {
			said := follow()
			text, err := os.ReadFile(filepath.Join(dir, "servers.conf"))
			if err != nil {
				return err
			}
			for _, name := range []string{"alpha", "bravo"} {
				if strings.Contains(string(text), "# "+name) != strings.Contains(strings.Join(names, " "), name) {
					return fmt.Errorf("%s\n%s", said, text)
				}
			}
			return nil
		}
	}
	testworld.Await(t, "both servers", servers("alpha", "bravo"))
	if said := follow(); strings.Contains(said, "reloaded") {
		t.Errorf("reloads although nothing has changed: %s", said)
	}
	gates["bravo"].shut()
	testworld.Await(t, "one server", servers("alpha"))
	gates["alpha"].shut()
	testworld.Await(t, "the last server stays when no node can serve", func() error {
		if said := follow(); said != "" {
			return errors.New(said)
		}
		return servers("alpha")()
	})
}
