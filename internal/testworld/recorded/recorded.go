// Package recorded replays answers of real nodes. They come from seven nodes of version 1.15.0 on a private network with an L1 and a
// permissioned subnet, from two nodes of a second
// private network, and from two nodes of a third one. Each .jsonl file is one situation, with one answer per
// line. Only tests use this package.
//
// Files that begin with client_ hold the calls of the typed client. The other files hold the calls of the collectors. survey.jsonl
// is not a situation: it has answers and errors from all situations, and a test compares the simulated network with it.
package recorded

import (
	"bufio"
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"
)

// Files are the recordings.
//
//go:embed *.jsonl
var Files embed.FS

// The chains of the recorded network.
const (
	L1Chain   = "ehHzgg4NQhW9hynVctru7Ls39D3rp9PerfGbehXSZFqUp6Q1r"
	L1Subnet  = "2cJveLDAymdrcLAt7nsLsHwA1J59bLUSBzoz3hom7yK5V443wT"
	PoAChain  = "Ph8BD1x45gWLKj5npRkxfi6zeNEDTbMHZLVLdBsXQ2Khm62qx"
	PoASubnet = "2mDNbxCFPsepy8WJV8r5dsGycXHJnAATaJMtRZ5Gnqqnho7qAT"
)

// The chains of the second recorded network, used by partial_sync and vm_cannot_start.
const (
	PartialSyncL1 = "2UNX7644LveBGPt2a6MqnUKyfAy5qHpPJEF2BCjJQb4uPey35c"
	FailedChain   = "2ZQkkPT2kZJdkRq3vjjojycNS1kN5jLfztVa7f9HRCEnprq5Aw"
)

// The chains of the third recorded network, used by proposer_healthy and proposer_frozen: a permissioned subnet, a
// permissioned subnet that became an L1, and an L1.
const (
	FrozenPoA = "21kVag2YqpnAQXbnWmggKUS3dGfrZ98WViJiE8xA8ja5T9CpgW"
	FrozenL1  = "QcYRm4ZewMhMYxBZnX8HEn3FkfxiR3akXdnov8Z72U2CYJjbH"
	StalledL1 = "2TdG9jFWUXCT2aLMoXpGTT84UrdTpVmfHePbb4B6RjU46FZsZt"
)

// Answer is one recorded answer.
type Answer struct {
	Name        string  `json:"name"`
	Method      string  `json:"method"` // HTTP method
	Path        string  `json:"path"`
	Request     string  `json:"request"`
	Status      int     `json:"status"` // 0: there was no answer
	ContentType string  `json:"contentType"`
	NodeID      string  `json:"nodeID"`
	Response    string  `json:"response"`
	SinceStart  float64 `json:"sinceStart"` // seconds since the start of the process, only in start_up
	From        string  `json:"from"`       // situation, only in survey

	call call
}

// call is a JSON-RPC request: the request of a recorded answer, or an incoming request.
type call struct {
	Method string `json:"method"`
	Params any    `json:"params"`
}

func read(body []byte) (c call) {
	_ = json.Unmarshal(body, &c)
	switch p := c.Params.(type) {
	case map[string]any:
		if p["subnetID"] == "11111111111111111111111111111111LpoYY" { // the default
			delete(p, "subnetID")
		}
		if len(p) == 0 {
			c.Params = nil
		}
	case []any:
		if len(p) == 0 {
			c.Params = nil
		}
	}
	return c
}

// Load reads the answers of a situation, such as "healthy".
func Load(situation string) ([]Answer, error) {
	text, err := Files.ReadFile(situation + ".jsonl")
	if err != nil {
		return nil, err
	}
	var answers []Answer
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, len(text)+1)
	for lines.Scan() {
		var a Answer
		if err := json.Unmarshal(lines.Bytes(), &a); err != nil {
			return nil, fmt.Errorf("%s: %w", situation, err)
		}
		a.call = read([]byte(a.Request))
		answers = append(answers, a)
	}
	return answers, lines.Err()
}

// Node is an http.Handler that answers as the recorded node did.
type Node struct {
	layers [][]Answer

	mu   sync.Mutex
	age  time.Duration
	seen []string
}

// NewNode returns a Node that replays these situations. If the first situation has no answer to a call, the next one is used.
func NewNode(situations ...string) (*Node, error) {
	n := &Node{age: time.Hour}
	for _, s := range situations {
		answers, err := Load(s)
		if err != nil {
			return nil, err
		}
		n.layers = append(n.layers, answers)
	}
	return n, nil
}

// SetAge sets how long the process has run. It matters only for start_up.
func (n *Node) SetAge(age time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.age = age
}

// Unanswered lists the received calls without a recorded answer. The node answered these calls as unknown methods.
func (n *Node) Unanswered() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.seen)
}

// ServeHTTP implements http.Handler.
func (n *Node) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var body bytes.Buffer
	if _, err := body.ReadFrom(r.Body); err != nil {
		panic(http.ErrAbortHandler)
	}
	asked := read(body.Bytes())
	a, ok := n.find(r, asked)
	switch {
	case ok && a.Status == 0 || n.notListening():
		panic(http.ErrAbortHandler) // closes the connection
	case ok:
		w.Header().Set("Content-Type", a.ContentType)
		w.Header().Set("Node-Id", a.NodeID)
		w.WriteHeader(a.Status)
		_, _ = w.Write([]byte(a.Response))
	case asked.Method == "info.isBootstrapped":
		refuse(w, "there is no chain with alias/ID '%s'", asked, "chain")
	case asked.Method == "info.getBlockchainID":
		refuse(w, "there is no ID with alias: %s", asked, "alias")
	default:
		n.mu.Lock()
		n.seen = append(n.seen, r.URL.Path+" "+asked.Method)
		n.mu.Unlock()
		http.Error(w, "404 page not found", http.StatusNotFound)
	}
}

// refuse answers with a real node's error for an unknown request.
func refuse(w http.ResponseWriter, words string, asked call, param string) {
	params, _ := asked.Params.(map[string]any)
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	fmt.Fprintf(w, `{"jsonrpc":"2.0","error":{"code":-32000,"message":"`+words+`","data":null},"id":1}`+"\n", params[param])
}

// find returns the recorded answer to the call. If there are several, it returns the latest up to the node's age.
func (n *Node) find(r *http.Request, asked call) (Answer, bool) {
	n.mu.Lock()
	age := n.age
	n.mu.Unlock()
	for _, layer := range n.layers {
		for _, a := range slices.Backward(layer) {
			if a.Path != r.URL.Path || a.Method != r.Method || a.call.Method != asked.Method || a.SinceStart > age.Seconds() {
				continue
			}
			if reflect.DeepEqual(a.call.Params, asked.Params) {
				return a, true
			}
			if filtered, ok := filter(a, asked); ok {
				return filtered, true
			}
		}
		if a, ok := shut(layer, r, age); ok {
			return a, true
		}
	}
	return Answer{}, false
}

// shut returns the recorded answer of a path without a handler. Such a path belongs to a chain that does not exist or is not
// bootstrapped, or to a disabled API. The answer is the same for every method.
func shut(layer []Answer, r *http.Request, age time.Duration) (Answer, bool) {
	for _, a := range slices.Backward(layer) {
		if a.Path == r.URL.Path && a.Method == r.Method && a.SinceStart <= age.Seconds() {
			return a, a.Status == http.StatusNotFound || a.Status == http.StatusServiceUnavailable
		}
	}
	return Answer{}, false
}

// notListening reports whether the process has not opened its port yet.
func (n *Node) notListening() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, a := range n.layers[0] {
		if a.SinceStart > 0 && a.Status != 0 {
			return n.age.Seconds() < a.SinceStart
		}
	}
	return false
}

// filter builds the answer to platform.getCurrentValidators with nodeIDs from the recorded whole set, as a node does. It omits
// unknown IDs.
func filter(whole Answer, asked call) (Answer, bool) {
	params, _ := asked.Params.(map[string]any)
	ids, ok := params["nodeIDs"].([]any)
	if !ok || !strings.HasSuffix(asked.Method, ".getCurrentValidators") {
		return Answer{}, false
	}
	rest := map[string]any{}
	for k, v := range params {
		if k != "nodeIDs" {
			rest[k] = v
		}
	}
	recorded, _ := whole.call.Params.(map[string]any)
	if len(rest) != len(recorded) || len(rest) > 0 && !reflect.DeepEqual(rest, recorded) {
		return Answer{}, false
	}
	if whole.Status != http.StatusOK {
		return whole, true
	}
	var answer struct {
		JSONRPC string `json:"jsonrpc"`
		Result  struct {
			Validators []map[string]json.RawMessage `json:"validators"`
		} `json:"result"`
		ID json.RawMessage `json:"id"`
	}
	if err := json.Unmarshal([]byte(whole.Response), &answer); err != nil {
		return Answer{}, false
	}
	answer.Result.Validators = slices.DeleteFunc(answer.Result.Validators, func(v map[string]json.RawMessage) bool {
		var id string
		_ = json.Unmarshal(v["nodeID"], &id)
		return !slices.Contains(ids, any(id))
	})
	text, err := json.Marshal(answer)
	whole.Response = string(text) + "\n"
	return whole, err == nil
}
