package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/scrape/data"
	"github.com/avax-exporter/avax-exporter/scrape/metrics"
)

// digits are string properties that hold whole numbers, which the descriptions do not say: a mock would answer with any text.
var digits = []string{
	"amount", "amountStaked", "balance", "value", "blockNumber", "createBlockNumber", "createBlockIndex", "baseFee", "gasUsed", "gasLimit",
	"gasCost", "gasSpent", "feesSpent", "cumulativeTransactions", "messageNonce", "receivedMessageNonce", "outputIndex",
}

// parameters are valid values of path variables.
var parameters = map[string]string{
	"network": "mainnet", "chainId": "43114", "blockchainId": "x-chain", "blockId": "6479329", "assetId": "th5aLdWLi32yS9ED6uLGoMMubqHjzMsXhKWwzP6yZTYQKYzof",
	"address": "0x8db97C7cEcE249c2b98bDC0226Cc4C2A57BF52FC", "tokenId": "7", "subnetId": "11111111111111111111111111111111LpoYY",
	"txHash": "2ZuMHYkpjjpGGnvTBfwW7xK2GKXwK9vkfrTmBDyfHdbTsBDuFX", "metric": "avgTps",
	"messageId": "acf1c8b06f9aec48e9fcbefbbe576ae8a7ca3b327fcae111396e7cc99956674d",
}

// refine restricts a part of a description like the service does: whole numbers that are not negative. For answers made of
// examples it extends it: the example of a price is a string, and its type a number.
func refine(part any, random bool) {
	switch v := part.(type) {
	case map[string]any:
		if properties, ok := v["properties"].(map[string]any); ok {
			for name, property := range properties {
				p, ok := property.(map[string]any)
				switch {
				case !ok:
				case p["type"] == "string" && p["enum"] == nil && slices.Contains(digits, name):
					p["pattern"] = "^[0-9]+$"
					if random {
						p["pattern"] = "^[1-9][0-9]{0,8}$"
					}
					if p["example"] == nil && p["examples"] == nil {
						p["example"] = "42"
					}
				case p["type"] == "number" && name == "value" && !random:
					delete(p, "type")
					p["example"] = "42.42"
				}
			}
		}
		if v["type"] == "number" && random {
			v["type"], v["minimum"], v["maximum"] = "integer", 0, 2_000_000_000
		}
		for _, p := range v {
			refine(p, random)
		}
	case []any:
		for _, p := range v {
			refine(p, random)
		}
	}
}

var variable = regexp.MustCompile(`\{(\w+)\}`)

const prism = "../../../.tools/prism/node_modules/.bin/prism"

// mock starts Prism for a description, and returns its address.
func mock(t *testing.T, document map[string]any, mode ...string) string {
	t.Helper()
	text, err := json.Marshal(document)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "description.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	command := exec.CommandContext(ctx, prism, slices.Concat([]string{"mock", "--port", "0", "--errors", file}, mode)...)
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	command.Stderr = command.Stdout
	if err := command.Start(); err != nil {
		t.Fatalf("%v: run make check-openapi", err)
	}
	t.Cleanup(func() { cancel(); _ = command.Wait() })
	address := make(chan string, 1)
	var said bytes.Buffer
	go func() {
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			said.WriteString(lines.Text() + "\n")
			if _, at, ok := strings.Cut(lines.Text(), "listening on "); ok {
				address <- strings.TrimSpace(at)
			}
		}
		close(address)
	}()
	at, ok := <-address
	if !ok {
		t.Fatalf("Prism exited:\n%s", said.String())
	}
	return at
}

// describedBy returns the description of a service: from the directory OPENAPI, or from testdata.
func describedBy(t *testing.T, service string, random bool) map[string]any {
	t.Helper()
	var document map[string]any
	dir := os.Getenv("OPENAPI")
	if dir == "" {
		dir = "testdata"
	}
	text, err := os.ReadFile(filepath.Join(dir, service+".json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &document); err != nil {
		t.Fatal(err)
	}
	refine(document, random)
	return document
}

// fetch calls an operation with valid parameters; Prism rejects others with 422.
func fetch(t *testing.T, base, method, path string) (jsontext.Value, error) {
	t.Helper()
	for _, v := range variable.FindAllStringSubmatch(path, -1) {
		path = strings.ReplaceAll(path, v[0], parameters[v[1]])
	}
	var body io.Reader
	switch {
	case strings.HasSuffix(path, "/rewards"):
		path += "?nodeIds=NodeID-111111111111111111116DBWJs&sortOrder=desc&pageSize=100&currency=usd"
	case strings.HasSuffix(path, "/metrics/avgTps"):
		path += "?timeInterval=day"
	case method == http.MethodPost && strings.HasSuffix(path, "/aggregateSignatures"):
		body = strings.NewReader(`{"message":"0x0001","quorumPercentage":67}`)
	}
	request, err := http.NewRequestWithContext(t.Context(), method, base+path, body)
	if err != nil {
		return nil, err
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode > 299 {
		err = fmt.Errorf("HTTP %d: %s", response.StatusCode, answer)
	}
	return answer, err
}

// decodes decodes an answer as the client does.
func decodes(t *testing.T, m *scrape.Method, answer []byte) error {
	t.Helper()
	u, err := scrape.New(scrape.Options{Name: "data", URL: "http://data.example.com", Transport: replay(answer)})
	if err != nil {
		t.Fatal(err)
	}
	_, err = data.New(u).Call(t.Context(), m, "/", nil)
	return err
}

// replay gives the same answer to every request.
type replay []byte

func (r replay) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(bytes.NewReader(r))}, nil
}

// Prism answers from the descriptions, with examples and with random values.
func TestEveryDescribedAnswerIsDecoded(t *testing.T) {
	if _, err := os.Stat(prism); err != nil {
		t.Skip("needs Prism: run make check-openapi")
	}
	const repetitions = 20 // with random values
	for mode, args := range map[string][]string{"static": nil, "dynamic": {"--dynamic", "--seed", "avax"}} {
		t.Run(mode, func(t *testing.T) {
			for _, service := range []string{"data", "metrics"} {
				document := describedBy(t, service, args != nil)
				base := mock(t, document, args...)
				decoded := 0
				for path, operations := range document["paths"].(map[string]any) {
					for method := range operations.(map[string]any) {
						method = strings.ToUpper(method)
						if i := slices.IndexFunc(data.Methods(), func(m *scrape.Method) bool { return m.Verb == method && m.Path == path }); i >= 0 {
							for range repetitions {
								answer, err := fetch(t, base, method, path)
								if err == nil {
									err = decodes(t, data.Methods()[i], answer)
								}
								if err != nil {
									t.Errorf("%s %s: %v\n%s", method, path, err, answer)
									break
								}
							}
							decoded++
							continue
						}
						if path == "/v2/chains/{chainId}/metrics/{metric}" {
							u, err := scrape.New(scrape.Options{Name: "metrics", URL: base})
							if err != nil {
								t.Fatal(err)
							}
							for range repetitions {
								if _, err := metrics.New(u).AvgTPSPage(t.Context(), "43114", scrape.Cursor{}); err != nil { // Prism does not know version 1
									t.Errorf("%s: %v", path, err)
								}
							}
							decoded++
							continue
						}
						if os.Getenv("OPENAPI") == "" { // a complete description has operations that the exporter does not call
							t.Errorf("the exporter does not call %s %s", method, path)
						}
					}
				}
				if want := map[string]int{"data": len(data.Methods()), "metrics": 1}[service]; decoded != want {
					t.Errorf("%s: %d operations decoded, want %d", service, decoded, want)
				}
			}
		})
	}
}
