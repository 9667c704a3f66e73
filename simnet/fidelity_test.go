package simnet_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
	"github.com/avax-exporter/avax-exporter/internal/testworld/recorded"
	"github.com/avax-exporter/avax-exporter/simnet"
)

// recording is one call to a real node of a release, on a network like this one. Long hexadecimal values and long lists are
// shortened.
type recording struct {
	Release        string // empty: 1.15.0
	From           string // situation of the node
	Name           string
	Method         string
	Path           string
	ContentType    *string
	Request        *string
	Status         int
	AnswerType     string
	Response       string
	SinceStart     float64 // seconds, while starting up
	TransportError string
}

// changes are the fields that a release adds to the answers of the one before.
var changes = map[string][]string{
	"1.15.1": {"$.result.validators[].restakedDelegateeRewards", "$.result.validators[].restakedValidationRewards"},
}

// TestAnswersMatchRecordingsOfARealNode makes the recorded calls of a real node in the same situation. It compares status, content
// type, fields and their types, and error texts. Nodes of later releases answer the same, apart from the listed changes.
func TestAnswersMatchRecordingsOfARealNode(t *testing.T) {
	all := recordings(t)
	recorded := map[string]int{}
	for _, r := range all {
		recorded[r.Release]++
	}
	t.Logf("recordings by release: %v; simulated releases: %v", recorded, simnet.Releases())
	var added []string // by later releases than that of the recordings
	for i, release := range simnet.Releases() {
		if i > 0 {
			added = append(added, changes[release]...)
		}
		for _, r := range all {
			if slices.Index(simnet.Releases(), r.Release) <= i {
				compare(t, release, added, r)
			}
		}
	}
}

func compare(t *testing.T, release string, added []string, r recording) {
	t.Helper()
	t.Run(fmt.Sprintf("%s/%s/%s", release, r.From, r.Name), func(t *testing.T) {
		now := time.Date(2026, 11, 20, 18, 9, 25, 400_000_000, time.UTC)
		net := simnet.New(simnet.Options{Now: func() time.Time { return now }})
		net.SetPrecompile("examplel1", "feeManagerConfig", false, now.Add(time.Hour))
		net.SetPrecompile("examplel1", "txAllowListConfig", true, now.Add(2*time.Hour))
		for _, name := range []string{"alpha", "bravo", "charlie", "delta", "echo", "foxtrot", "golf", "hotel"} {
			net.SetVersion(name, release)
		}
		node := net.Node("alpha")
		switch r.From {
		case "bootstrapping":
			node = net.Node("foxtrot")
			node.StartIsolated()
			now = now.Add(time.Hour)
		case "not_tracking":
			node = net.Node("delta")
		case "validator_stopped":
			net.Node("charlie").Stop()
			now = now.Add(time.Minute)
		case "l1_validator_inactive":
			net.SetBalance("examplel1", "charlie", 100*512)
			now = now.Add(145 * time.Second)
		case "admin_disabled":
			node.SetAPI("admin", false)
		case "start_up": // recorded before the subnets were created
			node.SetChain("examplel1", simnet.Untracked)
			node.SetChain("examplepoa", simnet.Untracked)
			node.Start()
			now = now.Add(startUpInstant(r))
		}
		r = translated(t, net, node, r)
		res, body, err := ask(net, node, r)
		if r.TransportError != "" {
			if err == nil || !strings.Contains(err.Error(), "connection refused") {
				t.Fatalf("got %v, want a refused connection", err)
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if res.StatusCode != r.Status {
			t.Fatalf("status %d, want %d", res.StatusCode, r.Status)
		}
		if got := res.Header.Get("Content-Type"); got != r.AnswerType && r.From != "start_up" {
			t.Errorf("content type %q, want %q", got, r.AnswerType)
		}
		if got := res.Header.Get("Node-Id"); got != node.ID() {
			t.Errorf("Node-Id %q, want %q", got, node.ID())
		}
		var got, want any
		if json.Unmarshal([]byte(r.Response), &want) != nil {
			if body != r.Response {
				t.Errorf("body %q, want %q", body, r.Response)
			}
			return
		}
		if err := json.Unmarshal([]byte(body), &got); err != nil {
			t.Fatalf("%v in %q", err, body)
		}
		if strings.HasSuffix(body, "\n") != strings.HasSuffix(r.Response, "\n") {
			t.Errorf("trailing newline of %q differs", body)
		}
		for _, d := range differences(shapeOf(got), shapeOf(want), "$") {
			if slices.ContainsFunc(added, func(field string) bool { return strings.HasPrefix(d, field) }) {
				continue
			}
			if accident, ok := accidents[r.From+"/"+r.Name]; !ok || !strings.HasPrefix(d, accident) {
				t.Error(d)
			}
		}
		if t.Failed() {
			t.Logf("got  %.1500s", body)
			t.Logf("want %.1500s", r.Response)
		}
	})
}

// accidents are differences that depend on the recorded situation, not on the API.
var accidents = map[string]string{
	"healthy/avm.getAllBalances": "$.result.balances[].asset", // the owner had no asset without an alias
	"validator_stopped/health":   "$.checks.router.",          // the machine was too slow
}

func recordings(t *testing.T) (list []recording) {
	t.Helper()
	f := must.Get(recorded.Files.Open("survey.jsonl"))(t)
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var r recording
		must.Do(t, json.Unmarshal(lines.Bytes(), &r))
		if r.Release == "" {
			r.Release = simnet.Releases()[0]
		}
		if !slices.Contains(simnet.Releases(), r.Release) {
			t.Fatalf("a recording of release %s: add it to simnet.Releases, and what it changes to changes", r.Release)
		}
		list = append(list, r)
	}
	if len(list) < 200 {
		t.Fatalf("%d recordings", len(list))
	}
	return list
}

// startUpInstant returns the step of the simulated start for a time of the recorded one. The recorded P-Chain took no time, so
// that X and C existed and waited at once.
func startUpInstant(r recording) time.Duration {
	switch {
	case r.TransportError != "":
		return 500 * time.Millisecond
	case r.SinceStart < 8 && strings.HasPrefix(r.Path, "/ext/bc/P"), r.SinceStart < 8 && strings.HasPrefix(r.Path, "/ext/") &&
		!strings.HasPrefix(r.Path, "/ext/bc"):
		if r.Name == "health" || r.Path == "/ext/admin" {
			return 6 * time.Second
		}
		return 4 * time.Second
	case r.SinceStart < 8:
		return 6 * time.Second
	case r.SinceStart < 35:
		return 15 * time.Second
	}
	return 32 * time.Second
}

// translated replaces the recorded IDs with those of this network.
func translated(t *testing.T, net *simnet.Network, node *simnet.Node, r recording) recording {
	t.Helper()
	ids := []string{
		"ehHzgg4NQhW9hynVctru7Ls39D3rp9PerfGbehXSZFqUp6Q1r", net.Chain("examplel1").ID,
		"2cJveLDAymdrcLAt7nsLsHwA1J59bLUSBzoz3hom7yK5V443wT", net.Chain("examplel1").SubnetID,
		"Ph8BD1x45gWLKj5npRkxfi6zeNEDTbMHZLVLdBsXQ2Khm62qx", net.Chain("examplepoa").ID,
		"2mDNbxCFPsepy8WJV8r5dsGycXHJnAATaJMtRZ5Gnqqnho7qAT", net.Chain("examplepoa").SubnetID,
		"t7JQ8kk2KaX7YhWWHv2fnWNztt81hJ13i2FXDq2ZG1CFyWghx", net.Chain("C").ID,
		"2huFztbeB4LijVCoLrxP8NwFbRCdtLfUyvx4VXwD5VnVxzxkMX", net.Chain("X").ID,
		"KbYH4Gyg1uZpmNbTGECZrTFoxmQtvzCmDvu2z4KT4qXgeZVAo", net.ValidationID("examplel1", "charlie"),
		"xmGssfNsHsWji4Nr4KkCrSCTmJ8K1RpkEaVhd2C7pE9jdM6Gz", net.ValidationID("examplel1", "bravo"),
		"bGfKK16DEgyp8xX6FpP2BB5UfE3fZFVn9f8NuS65sHWT5gn3J", net.ValidationID("examplepoa", "bravo"),
		"NodeID-7Xhw2mDxuDS44j42TCB6U5579esbSt3Lg", net.NodeID("alpha"),
		"NodeID-MFrZFVCXPv5iCn6M9K6XduxGTYp891xXZ", net.NodeID("bravo"),
		"NodeID-NFBbbJ4qCmNaCzeW7sxErhvWqvEQMnYcN", net.NodeID("charlie"),
		"NodeID-GWPcbFJZFfZreETSoWjPimr846mXEKCtu", net.NodeID("delta"),
		"NodeID-P7oB2McjBGgW2NXXWVYjV8JEDFoW9xDE5", net.NodeID("echo"),
		"NodeID-7RKChfwJYCdZSRmwrGw8y5qyDQcUDoq8m", net.NodeID("foxtrot"),
		"NodeID-Ho6t7QEGCEUrRvYNWWToh7h5GW9DAGjhZ", net.NodeID("golf"),
		"NodeID-LNpaerUu3TsQTzjeNSXWH8Je899RgQb7D", net.NodeID("hotel"),
	}
	if node == net.Node("alpha") && r.From != "start_up" {
		var asset struct{ Result struct{ AssetID string } }
		question := `{"jsonrpc":"2.0","id":1,"method":"avm.getAssetDescription","params":{"assetID":"AVAX"}}`
		_, body, err := ask(net, node, recording{Method: "POST", Path: "/ext/bc/X", Request: &question})
		if err != nil {
			t.Fatal(err)
		}
		must.Do(t, json.Unmarshal([]byte(body), &asset))
		ids = append(ids, "28N55gFiYRrHWTopC4mybgvTw92x4EmWiZBLCRBgjXFyBgx9UN", asset.Result.AssetID)
	}
	replace := strings.NewReplacer(ids...).Replace
	r.Path, r.Response = replace(r.Path), replace(r.Response)
	if r.Request != nil {
		s := replace(*r.Request)
		r.Request = &s
	}
	return r
}

func ask(net *simnet.Network, node *simnet.Node, r recording) (*http.Response, string, error) {
	var body io.Reader
	if r.Request != nil {
		body = strings.NewReader(*r.Request)
	}
	req, err := http.NewRequest(r.Method, "http://"+node.Name()+".sim"+r.Path, body)
	if err != nil {
		return nil, "", err
	}
	switch {
	case r.ContentType != nil:
		req.Header.Set("Content-Type", *r.ContentType)
	case r.Request != nil && !strings.HasSuffix(r.Name, "_noctype"):
		req.Header.Set("Content-Type", "application/json")
	}
	if r.Name == "err_badhost" {
		req.Host = "avalanche-0.svc:9650"
	}
	res, err := net.Transport().RoundTrip(req)
	if err != nil {
		return nil, "", err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	return res, string(b), err
}

// shape is the comparable part of JSON values at one place: their kinds, and the shapes of their contents.
type shape struct {
	kinds    map[string]bool
	fields   map[string]*shape
	objects  int            // number of objects
	seen     map[string]int // number of them with a field
	elements *shape         // of lists; nil if all were empty
	exact    map[string]bool
}

var kinds = []struct {
	name string
	re   *regexp.Regexp
}{
	{"digits", regexp.MustCompile(`^[0-9]+$`)},
	{"decimal", regexp.MustCompile(`^[0-9]+\.[0-9]{4}$`)},
	{"time", regexp.MustCompile(`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}Z$`)},
	{"precise time", regexp.MustCompile(`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}\.[0-9]+Z$`)},
	{"node ID", regexp.MustCompile(`^NodeID-[1-9A-HJ-NP-Za-km-z]{28,33}$`)},
	{"ID", regexp.MustCompile(`^[1-9A-HJ-NP-Za-km-z]{37,52}$`)},
	{"EVM address", regexp.MustCompile(`^0x[0-9a-fA-F]{40}$`)},
	{"hex", regexp.MustCompile(`^0x[0-9a-f]*$`)},
}

// shapeOf returns the merged shape of values.
func shapeOf(values ...any) *shape {
	s := &shape{kinds: map[string]bool{}, fields: map[string]*shape{}, seen: map[string]int{}, exact: map[string]bool{}}
	fields := map[string][]any{}
	var elements []any
	for _, v := range values {
		switch v := v.(type) {
		case map[string]any:
			s.kinds["object"] = true
			s.objects++
			for name, field := range v {
				fields[name] = append(fields[name], field)
				s.seen[name]++
			}
			if code, ok := v["code"].(float64); ok {
				s.exact[fmt.Sprintf("%v %v", code, v["message"])] = true
			}
		case []any:
			s.kinds["list"] = true
			elements = append(elements, v...)
		case string:
			kind := "text"
			for _, k := range kinds {
				if k.re.MatchString(v) {
					kind = k.name
					break
				}
			}
			s.kinds["string of "+kind] = true
		default:
			s.kinds[fmt.Sprintf("%T", v)] = true
		}
	}
	for name, list := range fields {
		s.fields[name] = shapeOf(list...)
	}
	if len(elements) > 0 {
		s.elements = shapeOf(elements...)
	}
	return s
}

// differences returns where the simulated shape differs from the recorded one. Parts that the recording does not have, such as
// elements of an empty list, are ignored.
func differences(got, want *shape, at string) (list []string) {
	if !maps.Equal(got.kinds, want.kinds) {
		list = append(list, fmt.Sprintf("%s: %v, want %v", at, slices.Sorted(maps.Keys(got.kinds)), slices.Sorted(maps.Keys(want.kinds))))
	}
	if !maps.Equal(got.exact, want.exact) {
		list = append(list, fmt.Sprintf("%s: error %v, want %v", at, got.exact, want.exact))
	}
	for name, w := range want.fields {
		g, ok := got.fields[name]
		switch {
		case !ok:
			list = append(list, fmt.Sprintf("%s.%s: missing", at, name))
			continue
		case want.seen[name] == want.objects && got.seen[name] < got.objects:
			list = append(list, fmt.Sprintf("%s.%s: in %d of %d only", at, name, got.seen[name], got.objects))
		}
		list = append(list, differences(g, w, at+"."+name)...)
	}
	for name := range got.fields {
		if _, ok := want.fields[name]; !ok {
			list = append(list, fmt.Sprintf("%s.%s: not in the recording", at, name))
		}
	}
	switch {
	case want.elements == nil:
	case got.elements == nil:
		list = append(list, at+": empty")
	default:
		list = append(list, differences(got.elements, want.elements, at+"[]")...)
	}
	return list
}
