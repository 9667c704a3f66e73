package scrape_test

import (
	"compress/gzip"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/scrape/wire"
)

type height struct {
	Height wire.Uint64 `json:"height"`
}

func open(t *testing.T, o scrape.Options) *scrape.Upstream {
	t.Helper()
	return must.Get(scrape.New(o))(t)
}

// One call of each kind.

func callRPC(u *scrape.Upstream) error {
	_, err := rpc[height](context.Background(), u, "/ext/bc/P", "platform.getHeight", nil)
	return err
}

func callEVM(u *scrape.Upstream) error {
	_, err := method[string](scrape.Method{Name: "eth_blockNumber", Positional: true}).Call(context.Background(), u, "/ext/bc/C/rpc", []any{})
	return err
}

func callOnce(u *scrape.Upstream) error {
	_, err := rpcOnce[height](context.Background(), u, "/ext/bc/P", "platform.getHeight", nil)
	return err
}

func callREST(u *scrape.Upstream) error {
	_, err := get[height](context.Background(), u, "GET /v1/height/{chain}", "/v1/height/P", nil)
	return err
}

func TestEachFailureHasItsOutcomeAndMessage(t *testing.T) {
	const envelope = `{"jsonrpc":"2.0","result":{"height":"14"},"id":1}` + "\n"
	const bootstrapping = "API call rejected because chain is not done bootstrapping\n"
	for _, c := range []struct {
		name   string
		ask    func(*scrape.Upstream) error
		status int
		header string // name: value
		body   string
		want   string // after the op; empty for an answer
	}{
		{"a good answer", callRPC, 200, "", envelope, ``},
		{"its members in another order", callRPC, 200, "", `{"id":1,"result":{"height":14},"jsonrpc":"2.0"}`, ``},
		{"unknown members, no error", callRPC, 200, "", `{"x":[{}],"id":1,"error":null,"result":{"height":14,"y":1}}  ` + "\n\n", ``},
		{"a member twice", callRPC, 200, "", `{"id":1,"result":{"height":1,"height":14}}`, `malformed: result.height: duplicate member`},
		{"a member twice in an unknown member", callRPC, 200, "", `{"id":1,"result":{"height":14,"x":[{"a":1,"a":1}]}}`, `malformed: result.x.0.a: duplicate member`},
		{"a member twice in REST", callREST, 200, "", `{"height":"14","height":"14"}`, `malformed: height: duplicate member`},
		{"two results", callRPC, 200, "", `{"id":1,"result":{"height":14},"result":{"height":15}}`, `malformed: result: duplicate member`},
		{"another id", callRPC, 200, "", `{"id":2,"result":{"height":14}}`, `malformed: the answer has the id of another request: check whether a proxy mixes ` +
			`answers`},
		{"another id, at the end", callRPC, 200, "", `{"result":{"height":14},"id":"1"}`,
			`malformed: the answer has the id of another request: check whether a proxy mixes answers`},
		{"an error with another id", callRPC, 200, "", `{"id":2,"error":{"code":-32000,"message":"m"}}`,
			`malformed: the answer has the id of another request: check whether a proxy mixes answers`},
		{"a result without id", callRPC, 200, "", `{"result":{"height":14}}`, `malformed: the answer has no id: check whether a proxy mixes answers`},
		{"created", callREST, 201, "", `{"height":"14"}`, ``},

		{"an error of the node", callRPC, 200, "", `{"jsonrpc":"2.0","error":{"code":-32000,"message":"argument 'chain' not given","data":null},"id":1}`,
			`rejected: argument 'chain' not given`},
		{"an error of an EVM chain", callRPC, 200, "", `{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"the method eth_nope does not exist/is not ` +
			`available"}}`, `not_offered: the method eth_nope does not exist/is not available`},
		{"a parse error with the request in it", callRPC, 200, "", `{"jsonrpc":"2.0","error":{"code":-32700,"message":"EOF","data":{"jsonrpc":"","method":"",` +
			`"params":null,"id":null}},"id":null}`, `rejected: EOF`},
		{"an error without a message", callRPC, 200, "", `{"error":{}}`, `rejected: an error without a message`},
		{"an error that is a string", callRPC, 200, "", `{"error":"no"}`, `rejected: no`},

		{"an empty answer", callRPC, 200, "", "", `malformed: the answer is empty`},
		{"an empty answer of an EVM chain, as of a node that shuts down", callEVM, 200, "", "", `unavailable: the answer is empty`},
		{"a blank answer", callREST, 200, "", " \n", `malformed: the answer is empty`},
		{"HTML", callRPC, 200, "", "\n<!DOCTYPE html><html>", `malformed: the answer is HTML, from a login page or a proxy: check the URL`},
		{"text", callRPC, 200, "", "nobody here", `malformed: the answer is neither a JSON object nor an array: check the URL`},
		{"a batch", callRPC, 200, "", `[]`, `malformed: not an object`},
		{"no result", callRPC, 200, "", `{"jsonrpc":"2.0","id":1}`, `malformed: the answer has neither result nor error`},
		{"a null result", callRPC, 200, "", `{"jsonrpc":"2.0","id":1,"result":null}`, `malformed: the answer has neither result nor error`},
		{"a missing field", callRPC, 200, "", `{"id":1,"result":{}}`, `malformed: result: height is missing`},
		{"a wrong shape", callRPC, 200, "", `{"id":1,"result":{"height":{}}}`, `malformed: result.height: neither a number nor a string`},
		{"a wrong value", callREST, 200, "", `{"height":"-1"}`, `malformed: height: "-1" is not a whole number of 0 or more`},
		{"a wrong kind", callREST, 200, "", `["x"]`, `malformed: unexpected JSON type`},
		{"an incomplete answer", callRPC, 200, "", envelope[:30], `malformed: the answer ends too early`},
		{"two answers", callRPC, 200, "", envelope + envelope, `malformed: data after the end of the answer`},
		{"garbage after the answer", callRPC, 200, "", envelope + "]", `malformed: data after the end of the answer`},
		{"garbage in the answer", callRPC, 200, "", `{"id":1,"result":{"height"}}`, `malformed: result.height: invalid JSON`},

		{"an unknown path of a node", callRPC, 404, "", "404 page not found\n",
			`not_found: HTTP 404: no such path: no node answers at this address, or the API is disabled`},
		{"an unknown resource of a service", callREST, 404, "", `{"message":"Chain 5 not found","error":"Not Found","statusCode":404}`,
			`not_found: HTTP 404: Chain 5 not found`},
		{"a wrong method", callRPC, 405, "", "rpc: POST method required, received GET\n", `not_offered: HTTP 405: rpc: POST method required, received GET`},
		{"a wrong content type", callRPC, 415, "", "rpc: unrecognized Content-Type: text/plain\n", `rejected: HTTP 415: rpc: unrecognized Content-Type: text/plain`},
		{"a bad request with several messages", callREST, 400, "", `{"message":["a must be b","c\u0000\u001b[31m must\n be d"],"error":"Bad Request",` +
			`"statusCode":400}`, `rejected: HTTP 400: a must be b; c [31m must be d`},
		{"a bad request with a long message", callREST, 400, "", `{"message":"` + strings.Repeat("x", 400) + `"}`,
			`rejected: HTTP 400: ` + strings.Repeat("x", 300) + `…`},
		{"a bad request without a message", callREST, 400, "", ``, `rejected: HTTP 400`},
		{"bootstrapping", callRPC, 503, "", bootstrapping, `bootstrapping: HTTP 503: the chain is not done bootstrapping`},
		{"a bad gateway", callRPC, 502, "", "<html>nginx</html>", `unavailable: HTTP 502: an HTML page of a proxy`},
		{"an internal error", callREST, 500, "", `{"message":"Internal server error","statusCode":500}`, `unavailable: HTTP 500: Internal server error`},
		{"an error of a gateway in JSON-RPC", callRPC, 500, "", `{"jsonrpc":"2.0","error":{"code":-32000,"message":"no backend"},"id":1}`,
			`unavailable: HTTP 500: no backend`},
		{"no credentials", callREST, 401, "", `{"message":"Unauthorized"}`, `forbidden: HTTP 401: credentials missing or wrong: check the headers and the key: ` +
			`Unauthorized`},
		{"not enough credentials", callREST, 403, "", `{"message":"Forbidden resource"}`, `forbidden: HTTP 403: not allowed without credentials: Forbidden resource`},
		{"a foreign host name", callRPC, 403, "", "invalid host specified\n", `forbidden: HTTP 403: the node does not serve the host name 127.0.0.1: start it ` +
			`with --http-allowed-hosts=127.0.0.1, or send a host name that it allows`},
		{"a request timeout of a proxy", callREST, 408, "", ``, `timeout: HTTP 408`},
		{"too many requests", callREST, 429, "Retry-After: 30", `{"message":"Rate limit exceeded"}`,
			`rate_limited: HTTP 429: too many requests: Rate limit exceeded`},
		{"a redirect", callREST, 302, "Location: https://login.example.com/?token=hush", ``,
			`malformed: HTTP 302: redirects to https://login.example.com are not followed: configure the final address`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if name, value, ok := strings.Cut(c.header, ": "); ok {
					w.Header().Set(name, value)
				}
				w.WriteHeader(c.status)
				_, _ = io.WriteString(w, c.body)
			}))
			defer server.Close()
			err := c.ask(open(t, scrape.Options{URL: server.URL, Name: "local"}))
			outcome, _, _ := strings.Cut(c.want, ": ")
			if c.want == "" {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			if err == nil {
				t.Fatalf("no error, want %q", c.want)
			}
			if _, got, _ := strings.Cut(err.Error(), ": "); got != c.want {
				t.Errorf("\n got %s\nwant %s", got, c.want)
			}
			if got := scrape.OutcomeOf(err); string(got) != outcome {
				t.Errorf("outcome %s, want %s", got, outcome)
			}
		})
	}
}

func TestRPCErrorKeepsItsCode(t *testing.T) {
	server := answering(`{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"the method eth_nope does not exist"}}`)
	err := callRPC(open(t, scrape.Options{URL: "http://node", Transport: server}))
	var refusal *scrape.RPCError
	if !errors.As(err, &refusal) || refusal.Code != -32601 || refusal.Message != "the method eth_nope does not exist" {
		t.Errorf("got %#v", refusal)
	}
}

func TestNullResultNeedsANilableType(t *testing.T) {
	u := open(t, scrape.Options{URL: "http://node", Transport: answering(`{"jsonrpc":"2.0","id":1,"result":null}`)})
	if block, err := rpc[*height](t.Context(), u, "/", "eth_getBlockByNumber", nil); err != nil || block != nil {
		t.Errorf("got %v, %v", block, err)
	}
	if block, err := rpc[any](t.Context(), u, "/", "eth_getBlockByNumber", nil); err != nil || block != nil {
		t.Errorf("got %v, %v", block, err)
	}
}

func TestHungUpstreamTimesOut(t *testing.T) {
	listener := must.Get(new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0"))(t)
	defer listener.Close() // it accepts and never answers, like a stopped process
	u := open(t, scrape.Options{URL: "http://" + listener.Addr().String(), Timeout: 20 * time.Millisecond})
	err := callRPC(u)
	if scrape.OutcomeOf(err) != scrape.Timeout || !strings.HasPrefix(err.Error(), "platform.getHeight: timeout: no answer within ") {
		t.Errorf("got %v", err)
	}
	if !errors.Is(err, context.DeadlineExceeded) || u.Healthy() {
		t.Errorf("healthy %v after %v", u.Healthy(), err)
	}
}

func TestRefusedConnectionIsUnreachable(t *testing.T) {
	listener := must.Get(new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0"))(t)
	listener.Close()
	if err := callOnce(open(t, scrape.Options{URL: "http://" + listener.Addr().String()})); scrape.OutcomeOf(err) != scrape.Unreachable {
		t.Errorf("got %v", err)
	}
}

func TestBrokenConnectionIsUnreachable(t *testing.T) {
	for name, sent := range map[string]string{
		"before the answer":        "",
		"in the middle of a body":  "HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{\"result\":",
		"in the middle of a chunk": "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n40\r\n{\"result\":",
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			connection, _, err := w.(http.Hijacker).Hijack()
			if err != nil {
				panic(err)
			}
			_, _ = io.WriteString(connection, sent)
			_ = connection.Close()
		}))
		if err := callOnce(open(t, scrape.Options{URL: server.URL})); scrape.OutcomeOf(err) != scrape.Unreachable {
			t.Errorf("%s: got %v", name, err)
		}
		server.Close()
	}
}

func TestDecompressedSizeIsLimited(t *testing.T) {
	big := `{"id":1,"result":{"height":1,"x":"` + strings.Repeat("x", 1<<20) + `"}}`
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Accept-Encoding") != "gzip" {
			t.Errorf("no gzip in Accept-Encoding: %v", r.Header)
		}
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		_, _ = io.WriteString(z, big)
		_ = z.Close()
	}))
	defer server.Close()
	u, size := open(t, scrape.Options{URL: server.URL}), int64(len(big))
	read := func(limit int64) error {
		_, err := method[height](scrape.Method{Name: "platform.getHeight", MaxBody: limit}).Call(t.Context(), u, "/ext/bc/P", nil)
		return err
	}
	if err := read(size); err != nil {
		t.Errorf("at the limit: %v", err)
	}
	if err := read(size - 1); scrape.OutcomeOf(err) != scrape.TooLarge || !u.Healthy() {
		t.Errorf("a byte above the limit: %v", err)
	}
	if err := read(0); err == nil || err.Error() != "platform.getHeight: too_large: the answer is larger than the limit of 1 MiB" {
		t.Errorf("default limit: %v", err)
	}
}

func TestConnectionsAreReusedAfterAnyAnswer(t *testing.T) {
	connections := 0
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/v1") {
			w.WriteHeader(400)
			_, _ = io.WriteString(w, strings.Repeat("x", 100<<10))
			return
		}
		_, _ = io.WriteString(w, `{"id":1,"result":{"height":"14"}}`)
	}))
	server.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			connections++
		}
	}
	server.Start()
	defer server.Close()
	u := open(t, scrape.Options{URL: server.URL})
	for range 5 {
		_, _ = callRPC(u), callREST(u)
	}
	if connections != 1 {
		t.Errorf("%d connections for ten calls", connections)
	}
}

func TestRequestsHaveTheExpectedForm(t *testing.T) {
	for _, c := range []struct {
		name string
		o    scrape.Options
		ask  func(*scrape.Upstream)
		want string
	}{
		{"JSON-RPC", scrape.Options{URL: "http://node:9650/"}, func(u *scrape.Upstream) {
			_, _ = rpc[height](t.Context(), u, "/ext/info", "info.peers", map[string][]string{"nodeIDs": {"a"}})
		}, `POST http://node:9650/ext/info host="" type="application/json" auth="" {"jsonrpc":"2.0","id":1,"method":"info.peers","params":{"nodeIDs":["a"]}}`},
		{"JSON-RPC without params, behind a path", scrape.Options{URL: "https://proxy/node1/"}, func(u *scrape.Upstream) {
			_, _ = rpc[height](t.Context(), u, "/ext/info", "info.upgrades", nil)
		}, `POST https://proxy/node1/ext/info host="" type="application/json" auth="" {"jsonrpc":"2.0","id":1,"method":"info.upgrades"}`},
		{"an array of params", scrape.Options{URL: "http://node:9650"}, func(u *scrape.Upstream) {
			_, _ = rpcOnce[height](t.Context(), u, "/ext/bc/C/rpc", "eth_feeConfig", []any{})
		}, `POST http://node:9650/ext/bc/C/rpc host="" type="application/json" auth="" {"jsonrpc":"2.0","id":1,"method":"eth_feeConfig","params":[]}`},
		{"REST", scrape.Options{URL: "http://data", Host: "inner"}, func(u *scrape.Upstream) {
			_, _ = get[height](t.Context(), u, "op", "/v1/chains/a%2Fb/x:y", url.Values{"pageToken": {"a b"}, "txTypes": {"A", "B"}})
		}, `GET http://data/v1/chains/a%2Fb/x:y?pageToken=a+b&txTypes=A&txTypes=B host="inner" type="" auth="" `},
		{"basic auth", scrape.Options{URL: "http://user:pass@node"}, func(u *scrape.Upstream) { _ = callREST(u) },
			`GET http://node/v1/height/P host="" type="" auth="Basic dXNlcjpwYXNz" `},
		{"a header and a host in the headers", scrape.Options{URL: "http://user:pass@node",
			Header: http.Header{"authorization": {"Bearer t0ken"}, "Host": {"inner"}}}, func(u *scrape.Upstream) { _ = callREST(u) },
			`GET http://node/v1/height/P host="inner" type="" auth="Bearer t0ken" `},
	} {
		var got string
		c.o.Transport = transport(func(r *http.Request) (*http.Response, error) {
			var body []byte
			if r.Body != nil {
				body, _ = io.ReadAll(r.Body)
			}
			got = fmt.Sprintf("%s %s host=%q type=%q auth=%q %s", r.Method, r.URL, r.Host, r.Header.Get("Content-Type"), r.Header.Get("Authorization"), body)
			return respond(200, "{}"), nil
		})
		c.ask(open(t, c.o))
		if got != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.name, got, c.want)
		}
	}
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		t.Errorf("the redirect was followed, with %v", r.Header)
	}))
	defer elsewhere.Close()
	server := httptest.NewServer(http.RedirectHandler(elsewhere.URL, http.StatusTemporaryRedirect))
	defer server.Close()
	u := open(t, scrape.Options{URL: server.URL, Header: http.Header{"X-Key": {"hush-hush"}}})
	if err := callREST(u); scrape.OutcomeOf(err) != scrape.Malformed {
		t.Errorf("got %v", err)
	}
}

func TestHostErrorNamesTheHostThatWasSent(t *testing.T) {
	err := callRPC(open(t, scrape.Options{URL: "http://node", Host: "inner", Transport: transport(func(*http.Request) (*http.Response, error) {
		return respond(403, "invalid host specified\n"), nil
	})}))
	if err == nil || !strings.Contains(err.Error(), "--http-allowed-hosts=inner,") {
		t.Errorf("got %v", err)
	}
}

func TestInvalidURLErrorsContainARemedy(t *testing.T) {
	for in, want := range map[string]string{
		"":                              `upstream "local": URL missing: write one like http://127.0.0.1:9650`,
		"127.0.0.1:9650":                `upstream "local": invalid URL: write http://127.0.0.1:9650 or https://127.0.0.1:9650`,
		"localhost:9650":                `upstream "local": invalid URL: write http://localhost:9650 or https://localhost:9650`,
		"user:hush@node:9650/x":         `upstream "local": invalid URL: write http://node:9650 or https://node:9650`,
		"ftp://node":                    `upstream "local": invalid URL: write http://node:9650, or https://node for a proxy with TLS`,
		"http://":                       `upstream "local": invalid URL: write one like http://127.0.0.1:9650`,
		"http://node one":               `upstream "local": invalid URL: write one like http://127.0.0.1:9650`,
		"http://user:hu/sh@node":        `upstream "local": invalid URL: write http://node:9650, or https://node for a proxy with TLS`,
		"http://hu#sh@node":             `upstream "local": invalid URL: it has an @ after the host: in a password, write / as %2F, ? as %3F, # as %23 and @ as %40`,
		"http://node/?token=hush":       `upstream "local": the URL has a query or fragment: remove the part after ? or #, and send a key as a header`,
		"http://user:hush@node%zz":      `upstream "local": invalid URL: write one like http://127.0.0.1:9650`,
		"http://user:hush@[::1:9650/hu": `upstream "local": invalid URL: write one like http://127.0.0.1:9650`,
	} {
		_, err := scrape.New(scrape.Options{Name: "local", URL: in})
		if err == nil || err.Error() != want {
			t.Errorf("%s\n got %v\nwant %s", in, err, want)
		}
	}
	for _, in := range []string{"http://node", "https://node:9650/", " http://[::1]:9650/a/b\n", "http://u:p%40%2F@node"} {
		if _, err := scrape.New(scrape.Options{URL: in}); err != nil {
			t.Errorf("%s: %v", in, err)
		}
	}
}

func TestHeaderWithALineBreakIsInvalid(t *testing.T) {
	_, err := scrape.New(scrape.Options{Name: "data", URL: "http://data", Header: http.Header{"X-Key": {"hush\n"}}})
	if want := `upstream "data": the value of header X-Key contains a line break or control character: remove it`; err == nil || err.Error() != want {
		t.Errorf("got %v", err)
	}
}

// TestErrorsContainNoSecrets uses a canary as each credential. The upstream repeats the canaries in every possible way.
func TestErrorsContainNoSecrets(t *testing.T) { synctest.Test(t, errorsContainNoSecrets) }

func errorsContainNoSecrets(t *testing.T) {
	const canary = "c4n4ry"
	for _, c := range []struct{ address, secret, basic string }{
		{"http://user:p" + canary + "@node/path", "p" + canary, "user:p" + canary},
		{"http://user:p%2F" + canary + "@node", "p/" + canary + " p%2F" + canary, "user:p/" + canary},
		{"http://u" + canary + "@node", "u" + canary, "u" + canary + ":"},
	} {
		said := "your secrets are " + c.secret + ", k" + canary + " and b" + canary
		for name, answer := range map[string]transport{
			"in a message": func(*http.Request) (*http.Response, error) { return respond(400, `{"message":"`+said+`"}`), nil },
			"in text":      func(*http.Request) (*http.Response, error) { return respond(403, said), nil },
			"in an RPC error": func(*http.Request) (*http.Response, error) {
				return respond(200, `{"error":{"message":"`+said+`"}}`), nil
			},
			"in a value":  func(*http.Request) (*http.Response, error) { return respond(200, `{"height":"k`+canary+`"}`), nil },
			"in an error": func(*http.Request) (*http.Response, error) { return nil, errors.New(said) },
			"in an error with the URL": func(r *http.Request) (*http.Response, error) {
				return nil, &url.Error{Op: "Post", URL: r.URL.String(), Err: errors.New("refused")}
			},
			"in the request itself": func(r *http.Request) (*http.Response, error) {
				r.Body = nil
				var dump strings.Builder
				err := r.Write(&dump)
				return respond(401, dump.String()), err
			},
			"in a foreign address": func(*http.Request) (*http.Response, error) {
				return nil, errors.New(`invalid proxy address "ftp://me:` + canary + `@proxy:80"`)
			},
			"in a redirect": func(*http.Request) (*http.Response, error) {
				r := respond(302, "")
				r.Header.Set("Location", "https://u:p"+canary+"@login/"+canary+"?"+canary)
				return r, nil
			},
		} {
			u := open(t, scrape.Options{URL: c.address, Transport: answer, Header: http.Header{
				"X-Key": {"k" + canary}, "X-Other": {"Bearer b" + canary}, "X-Short": {"k" + canary[:3]},
			}})
			for _, err := range []error{callRPC(u), callREST(u)} {
				if err == nil {
					t.Fatalf("%s: no error", name)
				}
				basic := base64.StdEncoding.EncodeToString([]byte(c.basic))
				if told := err.Error(); strings.Contains(told, canary[3:]) || strings.Contains(told, basic) || strings.Contains(told, "http://") {
					t.Errorf("%s, %s: %v", name, c.address, err)
				}
				var refusal *scrape.RPCError
				if errors.As(err, &refusal) && strings.Contains(refusal.Message, canary) {
					t.Errorf("%s, %s: %v", name, c.address, refusal.Message)
				}
			}
		}
	}
}

func TestOutcomeOfClassifiesAnyError(t *testing.T) {
	var none *scrape.Error
	for _, c := range []struct {
		err  error
		want scrape.Outcome
	}{
		{nil, scrape.OK},
		{&scrape.Error{Op: "x", Outcome: scrape.TooLarge}, scrape.TooLarge},
		{fmt.Errorf("collector: %w", errors.Join(io.EOF, &scrape.Error{Outcome: scrape.Forbidden})), scrape.Forbidden},
		{&scrape.Error{Outcome: "made up"}, scrape.Malformed},
		{none, scrape.Malformed},
		{context.DeadlineExceeded, scrape.Timeout},
		{fmt.Errorf("x: %w", context.Canceled), scrape.Timeout},
		{&net.OpError{Op: "dial", Err: errors.New("refused")}, scrape.Unreachable},
		{&net.DNSError{}, scrape.Unreachable},
		{&net.OpError{Op: "dial", Err: os.NewSyscallError("socket", syscall.EMFILE)}, scrape.LocalLimit},
		{&net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.EADDRNOTAVAIL)}, scrape.LocalLimit},
		{&net.DNSError{Err: "dial udp 127.0.0.1:53: socket: too many open files"}, scrape.LocalLimit},
		{&net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}, scrape.Unreachable},
		{io.ErrUnexpectedEOF, scrape.Unreachable},
		{errors.New("x"), scrape.Malformed},
	} {
		if got := scrape.OutcomeOf(c.err); got != c.want {
			t.Errorf("%v: got %s, want %s", c.err, got, c.want)
		}
	}
	if all := scrape.Outcomes; len(all) != 13 || all[0] != scrape.OK {
		t.Errorf("outcomes: %v", all)
	}
}

func TestHealthyMeansTheUpstreamItselfAnswered(t *testing.T) {
	var now *http.Response
	u := open(t, scrape.Options{URL: "http://node", Transport: transport(func(*http.Request) (*http.Response, error) {
		if now == nil {
			return nil, errors.New("refused")
		}
		return now, nil
	})})
	if !u.Healthy() {
		t.Error("not healthy before any call")
	}
	for _, c := range []struct {
		answer *http.Response
		want   bool
	}{
		{nil, false},
		{respond(200, `{"id":1,"result":{"height":1}}`), true},
		{respond(502, ""), false},
		{respond(200, `{"error":{"code":-32000,"message":"no"}}`), true},
		{respond(403, ""), false},
		{respond(404, "404 page not found"), true},
		{respond(200, "<html>"), false},
		{respond(503, "chain is not done bootstrapping"), true},
	} {
		now = c.answer
		if err := callOnce(u); u.Healthy() != c.want {
			t.Errorf("healthy is %v after %v", u.Healthy(), err)
		}
	}
}

// A lack of file descriptors on the exporter's host says nothing about the upstream. The error describes the lack.
func TestLocalLimitsLeaveHealthUnchanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := open(t, scrape.Options{URL: "http://node", Transport: transport(func(*http.Request) (*http.Response, error) {
			return nil, &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("socket", syscall.EMFILE)}
		})})
		err := callRPC(u)
		if scrape.OutcomeOf(err) != scrape.LocalLimit || !strings.Contains(err.Error(), "exporter's host") || !u.Healthy() {
			t.Errorf("%v, healthy is %t", err, u.Healthy())
		}
	})
}

// A call without an answer says nothing about the upstream if this process was late during a quarter of it.
func TestTimeoutOfALateProcessIsNoTimeout(t *testing.T) {
	for name, test := range map[string]struct {
		late   float64 // share of the call
		after  time.Duration
		shared bool
		want   scrape.Outcome
	}{
		"in time":                  {0.2, 5 * time.Second, false, scrape.Timeout},
		"late":                     {0.3, 5 * time.Second, false, scrape.LocalLimit},
		"a shared answer":          {0.3, 5 * time.Second, true, scrape.LocalLimit},
		"in time and shared":       {0.2, 5 * time.Second, true, scrape.Timeout},
		"no time was left":         {0, 0, false, scrape.Timeout},
		"no time was left, shared": {0, 0, true, scrape.Timeout},
		"little time was left":     {1, 200 * time.Millisecond, false, scrape.Timeout}, // one timer was late
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				u := open(t, scrape.Options{URL: "http://node", Transport: transport(func(r *http.Request) (*http.Response, error) {
					<-r.Context().Done()
					return nil, r.Context().Err()
				}), Lost: func() time.Duration { return time.Duration(test.late * float64(time.Since(began))) }})
				ctx, cancel := context.WithTimeout(t.Context(), test.after)
				defer cancel()
				if test.shared {
					ctx = scrape.MaxAge(ctx, time.Second)
				}
				_, err := rpc[height](ctx, u, "/ext/bc/P", "platform.getHeight", nil)
				time.Sleep(10 * time.Second) // until the shared request has ended
				starved := test.want == scrape.LocalLimit
				if scrape.OutcomeOf(err) != test.want || scrape.IsStarved(err) != starved || test.after > 0 && u.Healthy() != starved {
					t.Errorf("%v, starved is %t, healthy is %t", err, scrape.IsStarved(err), u.Healthy())
				}
			})
		})
	}
}
