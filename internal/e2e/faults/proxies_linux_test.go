package faults_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/testworld"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
)

// proxies are in front of an exporter, configured as documented: they keep connections open, and block reloads and changes of silences.
var proxies = map[string]struct{ program, config string }{
	"nginx": {"usr/sbin/nginx -p DIR -e DIR/error.log -c FILE", `
daemon off;
pid DIR/pid;
worker_processes 1;
events {}
http {
  access_log off;
  client_body_temp_path DIR/body; proxy_temp_path DIR/proxy; fastcgi_temp_path DIR/fastcgi; uwsgi_temp_path DIR/uwsgi; scgi_temp_path DIR/scgi;
  upstream exporter { server EXPORTER; keepalive 4; }
  server {
    listen LISTEN;
    proxy_http_version 1.1;
    proxy_set_header Connection "";
    proxy_set_header X-Forwarded-For $remote_addr;
    location = /-/reload { return 403; }
    location / { proxy_pass http://exporter; }
    location /local/ { proxy_pass http://EXPORTER/; }
  }
}`},
	"haproxy": {"usr/sbin/haproxy -db -f FILE", `
defaults
  mode http
  timeout connect 5s
  timeout client 30s
  timeout server 30s
  http-reuse always
  option forwardfor
frontend all
  bind LISTEN
  http-request deny if { path_beg /-/reload }
  http-request set-path %[path,regsub(^/local,)]
  default_backend exporter
backend exporter
  server one EXPORTER
`},
}

// smuggled is a request that an attacker hides in another one.
const smuggled = "POST /-/reload HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n"

// ambiguous returns requests whose end two servers may see at different bytes.
func ambiguous() []string {
	const head = "POST /metrics HTTP/1.1\r\nHost: localhost\r\n"
	chunk := fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(smuggled), smuggled)
	all := []string{
		head + fmt.Sprintf("Content-Length: %d\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n%s", len(smuggled)+5, smuggled),
		head + "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk,
		head + fmt.Sprintf("Content-Length: 0\r\nContent-Length: %d\r\n\r\n%s", len(smuggled), smuggled),
		head + fmt.Sprintf("Content-Length: %d\r\nContent-Length: 0\r\n\r\n%s", len(smuggled), smuggled),
		head + "Content-Length: +0\r\n\r\n" + smuggled,
		head + "Content-Length: 0x0\r\n\r\n" + smuggled,
		"GET /metrics HTTP/1.1\r\nHost: localhost\r\nContent-Length:\r\n\r\n" + smuggled,
		"GET /metrics HTTP/1.1\nHost: localhost\n\n" + smuggled,
		"GET /metrics HTTP/1.1\r\nHost: localhost\r\nX: a\r\n b\r\n\r\n" + smuggled,
		"GET /metrics HTTP/1.1\r\nHost: localhost\r\nX: a\rPOST /-/reload HTTP/1.1\r\n\r\n",
		"GET /metrics?\r\nX: HTTP/1.1\r\nHost: localhost\r\n\r\n" + smuggled,
		"GET /metrics HTTP/1.0\r\nHost: localhost\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + smuggled,
		"GET /x/..%2f-/reload HTTP/1.1\r\nHost: localhost\r\n\r\n", "POST /x/../-/reload HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n",
		"POST /%2d/reload HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n", "POST http://localhost//-/reload HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n",
	}
	for _, spelling := range []string{
		"Transfer-Encoding : chunked", " Transfer-Encoding: chunked", "Transfer-Encoding: xchunked", "Transfer-Encoding: chunked, identity", "Transfer-Encoding:\x0bchunked",
		"Transfer-Encoding: identity\r\nTransfer-Encoding: chunked", "Transfer_Encoding: chunked", "X: x\nTransfer-Encoding: chunked", "Transfer-Encoding: \"chunked\"",
	} {
		all = append(all,
			head+fmt.Sprintf("Content-Length: %d\r\n%s\r\n\r\n0\r\n\r\n%s", len(smuggled)+5, spelling, smuggled),
			head+"Content-Length: 4\r\n"+spelling+"\r\n\r\n"+chunk)
	}
	for _, body := range []string{"0;\n\r\n\r\n", "0\n\r\n", "00000000000000000\r\n\r\n", "0_0\r\n\r\n", "1;x\r\na\r\n0\r\nX: a\r\n\r\n", "-0\r\n\r\n", "0x0\r\n\r\n"} {
		all = append(all, head+"Transfer-Encoding: chunked\r\n\r\n"+body+smuggled)
	}
	return all
}

// proxyRoot returns the directory with nginx and haproxy, or skips the test.
func proxyRoot(t *testing.T) string {
	t.Helper()
	root := must.Get(filepath.Abs("../../../.tools/proxies"))(t)
	if _, err := os.Stat(root); err != nil {
		t.Skip("needs nginx and haproxy: run make proxies")
	}
	return root
}

// runProxy runs a program in that directory until the test ends, and returns what it writes.
func runProxy(t *testing.T, root, program string) *testworld.Log {
	t.Helper()
	words := strings.Fields(program)
	cmd := exec.Command(filepath.Join(root, words[0]), words[1:]...)
	cmd.Env = append(os.Environ(), "LD_LIBRARY_PATH="+filepath.Join(root, "usr/lib/x86_64-linux-gnu"))
	out := &testworld.Log{}
	cmd.Stdout, cmd.Stderr = out, out
	must.Do(t, cmd.Start())
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		<-ended
	})
	return out
}

// A request that is hidden in another one passes no proxy and spoils no other client's answer. Forwarded requests do not count as local.
func TestProxiesForwardNoSmuggledRequest(t *testing.T) {
	testworld.Full(t)
	root := proxyRoot(t)
	_, nodes := gated(t, "alpha")
	e := start(t, notifying(t, nodes, map[string]string{"none": "http://127.0.0.1:1"})...)
	e.Ready()
	const reloaded = `"configuration reloaded","config":"notifications"`
	for name, proxy := range proxies {
		dir, listen := t.TempDir(), testworld.Address(t)
		file := filepath.Join(dir, "config")
		known := strings.NewReplacer("DIR", dir, "FILE", file, "LISTEN", listen, "EXPORTER", strings.TrimPrefix(e.URL, "http://"))
		write(t, file, known.Replace(proxy.config))
		out := runProxy(t, root, known.Replace(proxy.program))
		honest := func() error {
			client := &http.Client{Timeout: answered, Transport: &http.Transport{}}
			defer client.CloseIdleConnections()
			answer, err := client.Get("http://" + listen + "/metrics")
			if err != nil {
				return fmt.Errorf("%w\n%s", err, out)
			}
			defer answer.Body.Close()
			body, err := io.ReadAll(answer.Body)
			if err == nil && (answer.StatusCode != http.StatusOK || !strings.Contains(string(body), "avax_node_up")) {
				err = fmt.Errorf("%s: %.200s", answer.Status, body)
			}
			return err
		}
		testworld.Await(t, name+" passes requests on", honest)
		for _, request := range ambiguous() {
			said := talk(t, listen, request)
			if strings.Contains(said, "reloaded") || strings.Contains(e.Log(), reloaded) {
				t.Fatalf("%s forwards the request hidden in\n%q\n%s", name, request, said)
			}
			for range 2 {
				if err := honest(); err != nil {
					t.Errorf("%s: after\n%q\n%v", name, request, err)
				}
			}
		}
		for _, host := range []string{"localhost", "127.0.0.1", "example.org"} {
			silence := `{"matchers":[{"name":"alertname","value":".*","isRegex":true}],"startsAt":"2020-01-01T00:00:00Z","endsAt":"2100-01-01T00:00:00Z","createdBy":"x","comment":"x"}`
			said := talk(
				t,
				listen,
				fmt.Sprintf(
					"POST /local/api/v2/silences HTTP/1.1\r\nHost: %s\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
					host,
					len(silence),
					silence,
				),
			)
			if !strings.Contains(said, " 403 ") {
				t.Errorf("%s: silence created by a remote client: %s", name, said)
			}
		}
		t.Logf("%s: %d requests", name, len(ambiguous()))
	}
	// The same request does reload if it is sent directly.
	if said := talk(t, strings.TrimPrefix(e.URL, "http://"), smuggled); !strings.Contains(said, " 200 ") {
		t.Errorf("sent directly: %s", said)
	}
	e.awaitLog(reloaded)
}

// talk sends bytes, and returns the answer within a moment.
func talk(t *testing.T, address, request string) string {
	t.Helper()
	c := must.Get(net.DialTimeout("tcp", address, answered))(t)
	defer c.Close()
	_, _ = io.WriteString(c, request)
	var said strings.Builder
	_ = c.SetReadDeadline(time.Now().Add(300 * time.Millisecond))
	_, _ = io.Copy(&said, io.LimitReader(bufio.NewReader(c), 1<<20))
	return said.String()
}
