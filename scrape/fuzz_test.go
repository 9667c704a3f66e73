package scrape_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/scrape/wire"
)

// counted is a body that counts the bytes read.
type counted struct {
	io.Reader
	read int
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.read += n
	return n, err
}

func (*counted) Close() error { return nil }

// FuzzErrorsAreOneLineWithoutSecrets answers with any status, header and body. The result must be a value, or an error of one line
// without a credential. At most Method.MaxBody bytes may be read.
func FuzzErrorsAreOneLineWithoutSecrets(f *testing.F) {
	f.Add(200, "", []byte(`{"jsonrpc":"2.0","result":{"a":[1,null]},"id":1}`))
	f.Add(200, "", []byte(`{"jsonrpc":"2.0","error":{"code":-32000,"message":"the token c4n4ry-one\u001b[31m is bad"},"id":1}`))
	f.Add(200, "", []byte(strings.Repeat("[", 20_000)))
	f.Add(302, "https://user:c4n4ry-one@elsewhere.example.com/?key=c4n4ry-one", []byte{})
	f.Add(400, "", []byte(`{"message":["bad key c4n4ry-one","\r\nlevel=ERROR"]}`))
	f.Add(403, "", []byte(`invalid host specified: c4n4ry-one`))
	f.Add(404, "", []byte("404 page not found\n"))
	f.Add(500, "", []byte("<html>"))
	f.Add(503, "", []byte("API call rejected because chain is not done bootstrapping\x00"))
	const canary, limit = "c4n4ry-one", 16 << 10
	f.Fuzz(func(t *testing.T, status int, location string, answer []byte) {
		if status < 200 || status > 599 {
			return // net/http rejects it
		}
		var body *counted
		u, err := scrape.New(scrape.Options{
			URL: "http://me:" + canary + "@node.example.com", Header: http.Header{"X-Key": {canary}},
			Transport: transport(func(*http.Request) (*http.Response, error) {
				body = &counted{Reader: bytes.NewReader(answer)}
				header := http.Header{}
				header.Set("Location", location)
				return &http.Response{StatusCode: status, Header: header, Body: body}, nil
			}),
		})
		if err != nil {
			t.Fatal(err)
		}
		value, err := method[jsontext.Value](scrape.Method{Name: "info.getNodeID", Changes: "nothing", MaxBody: limit}).Call(t.Context(), u, "/ext/info", nil)
		if body.read > limit+64<<10 {
			t.Errorf("read %d bytes, want at most %d", body.read, limit)
		}
		if err == nil {
			if status/100 != 2 || len(value) > limit {
				t.Errorf("HTTP %d: value of %d bytes, want an error", status, len(value))
			}
			return
		}
		if text := err.Error(); strings.Contains(text, canary) || strings.ContainsAny(text, "\r\n\x1b\x00") || len(text) > 2<<10 {
			t.Errorf("HTTP %d %q: error %q", status, answer, text)
		}
		if scrape.OutcomeOf(err) == scrape.OK || errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("HTTP %d %q without outcome: %v", status, answer, err)
		}
	})
}

// Errors shorten long texts of an upstream. If a text repeats a secret, the error contains no part of the secret.
func TestNoPartOfASecretIsToldWhereATextIsCut(t *testing.T) {
	for _, token := range []string{"c4n4ry-p4rr0t", "c4n4ry/p4rr0t", "c4n4ry~p4rr0t", "c4n4ry.p4rr0t", `c4n4ry"p4rr0t`} {
		quoted, _ := json.Marshal(token)
		inside := string(quoted[1 : len(quoted)-1])
		for _, answer := range []struct {
			status int
			body   string
		}{
			{200, `{"jsonrpc":"2.0","PAD%s":}`},
			{200, `{"jsonrpc":"2.0","id":1,"result":{"PAD%s":}}`},
			{200, `{"jsonrpc":"2.0","id":1,"result":{"a":{"PAD%[1]s":1,"PAD%[1]s":2}}}`},
			{200, `{"jsonrpc":"2.0","id":1,"result":{"n":{"PAD%s":"x"}}}`},
			{200, `{"jsonrpc":"2.0","id":1,"result":{"n":{"a":"PAD%s"}}}`},
			{200, `{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"PAD%s"}}`},
			{400, `{"message":"PAD%s"}`},
			{500, `PAD%s`},
		} {
			for pad := range 320 {
				body := strings.ReplaceAll(fmt.Sprintf(answer.body, inside), "PAD", strings.Repeat("x", pad))
				u := must.Get(scrape.New(scrape.Options{
					URL: "http://node.example.com", Header: http.Header{"Authorization": {"Bearer " + token}},
					Transport: transport(func(*http.Request) (*http.Response, error) {
						return &http.Response{StatusCode: answer.status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body))}, nil
					}),
				}))(t)
				type result struct {
					N map[string]wire.Uint64 `json:"n"`
				}
				_, err := method[result](scrape.Method{Name: "info.getNodeID", Changes: "nothing"}).Call(t.Context(), u, "/ext/info", nil)
				if err == nil {
					continue
				}
				if text := err.Error(); strings.Contains(text, token[:4]) || strings.Contains(text, token[7:]) {
					t.Fatalf("%s: %s", body, text)
				}
			}
		}
	}
}
