package web

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/nodes"
	"github.com/avax-exporter/avax-exporter/internal/staking"
	"github.com/avax-exporter/avax-exporter/internal/status"
)

// codes are the HTTP statuses of the verdicts.
var codes = map[status.Verdict]int{
	status.Yes: http.StatusOK, status.No: http.StatusConflict, status.Unknown: http.StatusServiceUnavailable,
	status.NotFound: http.StatusNotFound, status.Invalid: http.StatusBadRequest,
}

// safeToStop answers GET /safe-to-stop?node=…, with the configured name or the node ID of a node, or the name of a validator. Statuses:
//
//   - 200: the node can be stopped. At least 80 % of the weight of each of its L1s, and of the primary network's stake, stays
//     active and connected.
//   - 409: the node must not be stopped, with the reason.
//   - 503: currently unknown, with the reason.
//   - 400: no node parameter.
//   - 404: unknown node.
//
// The answer is one line of text, or JSON if the request accepts application/json. docs/operating.md has a script for rolling
// upgrades that uses it.
func safeToStop(st *status.Status, node string) (verdict status.Verdict, about *status.Answer, answer any, stops string) {
	verdict, a := st.SafeToStop(node)
	return verdict, &a.Answer, &a, a.Node
}

// safe answers a question whether a node may stop. Its parameter names what decide decides about, which also returns the node that a yes stops.
func (s *Site) safe(parameter string,
	decide func(*status.Status, string) (verdict status.Verdict, about *status.Answer, answer any, stops string)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		query, ok := parameters(w, r, parameter, "force", "hold")
		if !ok {
			return
		}
		about := &status.Answer{}
		var answer any = about
		verdict, reason := s.confirmed(r.Context(), query, func(st *status.Status) (verdict status.Verdict, stops []string) {
			var node string
			verdict, about, answer, node = decide(st, query.Get(parameter))
			return verdict, []string{node}
		})
		if reason != "" {
			about.Set(verdict, reason)
		}
		writeVerdict(w, r, codes[verdict], answer, about.Reason)
	}
}

// parameters returns the parameters of a request for a verdict. A parameter that is not one of these names, or that occurs twice, ends the request with
// status 400: the verdict would be about something else than the client asks. A name that ends in … may occur several times.
func parameters(w http.ResponseWriter, r *http.Request, names ...string) (url.Values, bool) {
	query, err := url.ParseQuery(r.URL.RawQuery)
	known := strings.NewReplacer("…", "").Replace(strings.Join(names, ", "))
	if err != nil {
		http.Error(w, "invalid parameters: separate them with &: the parameters are "+known, http.StatusBadRequest)
		return nil, false
	}
	for _, name := range slices.Sorted(maps.Keys(query)) {
		switch {
		case slices.Contains(names, name+"…"):
		case !slices.Contains(names, name):
			http.Error(w, fmt.Sprintf("unknown parameter %q: the parameters are %s", name, known), http.StatusBadRequest)
			return nil, false
		case len(query[name]) > 1:
			http.Error(w, fmt.Sprintf("parameter %s occurs %d times: write it once", name, len(query[name])), http.StatusBadRequest)
			return nil, false
		case (name == "force" || name == "hold") && !slices.Contains([]string{"true", "false"}, query.Get(name)):
			http.Error(w, name+": write true or false", http.StatusBadRequest)
			return nil, false
		}
	}
	return query, true
}

// confirmed returns the verdict of decide, which also returns the nodes that a yes stops. Before it says yes, it calls the nodes, and decides again by what
// they say. Then it spends the yes: no other node gets one for a minute, see status.Spend. With hold=false it does not, for those who only look. With
// force=true it does not care whether another node was told yes. If nodes or other questions forbid a yes, it returns the reason, too.
func (s *Site) confirmed(ctx context.Context, query url.Values, decide func(*status.Status) (verdict status.Verdict, stops []string)) (
	verdict status.Verdict, reason string) {
	at := func(st *status.Status) *status.Status {
		its := *st
		its.Force = query.Get("force") == "true"
		return &its
	}
	st, err := s.ofAll.get(ctx, "", s.patience(), func(context.Context) (*status.Status, error) { return s.statusAt(time.Now()), nil })
	if err != nil {
		return status.Unknown, busy
	}
	spends := func(stops []string) []string {
		return slices.DeleteFunc(stops, func(name string) bool { return !st.IsNode(name) || query.Get("hold") == "false" })
	}
	if verdict, _ = decide(at(st)); verdict != status.Yes {
		alone := *st
		alone.Force = true
		if would, stops := decide(&alone); verdict == status.No && would == status.Yes {
			st.Wait(spends(stops)...)
		}
		verdict, _ = decide(at(st)) // the last call counts
		return verdict, ""
	}
	now, err := s.asked.get(ctx, "", workWaiting+askedFor, func(ctx context.Context) (asked, error) {
		ctx, stop := context.WithTimeout(ctx, askedFor)
		defer stop()
		said := s.Ask(ctx, st.Sample())
		return asked{said, s.statusAt(time.Now())}, nil
	})
	if err != nil { // the client leaves, or too many wait
		return status.Unknown, busy
	}
	st = at(now.then)
	verdict, stops := decide(st)
	if verdict != status.Yes {
		return verdict, ""
	}
	if against := st.Contradicted(now.said, stops...); against != "" {
		if s.Asked != nil {
			s.Asked("", status.StopCollector) // counts it
		}
		return status.Unknown, "not known: " + against
	}
	if stops = spends(stops); len(stops) > 0 {
		if against := st.Spend(stops...); against != "" {
			return status.No, "no: " + against
		}
	}
	return status.Yes, ""
}

// asked is what the nodes say, and the status then.
type asked struct {
	said []nodes.Presence
	then *status.Status
}

// busy is a verdict while too many clients ask: nothing is known, and nothing is denied.
const busy = "not known: too many requests: retry in a few seconds"

const (
	// askedEvery is the shortest time between two calls of all nodes: any client may ask. Who asks meanwhile waits for the next one.
	askedEvery = 5 * time.Second
	// askedFor is how long the nodes may take to answer.
	askedFor = 2 * time.Second
)

// isBack answers GET /is-back?node=…, with the configured name or the node ID of a node. Statuses:
//
//   - 200: the node is back. It answers, is bootstrapped on all chains that it validates or ran before, is healthy and connected, for two minutes. With
//     after=UNIX, the two minutes begin then at the earliest.
//   - 409: something is missing.
//   - 503: currently unknown.
//   - 400: no node parameter, or after is not a time. 404: unknown node.
func (s *Site) isBack(w http.ResponseWriter, r *http.Request) {
	query, ok := parameters(w, r, "node", "after")
	if !ok {
		return
	}
	var after time.Time
	if text := query.Get("after"); text != "" {
		unix, err := strconv.ParseInt(text, 10, 64)
		if err != nil || unix < 0 {
			http.Error(w, "after: write Unix seconds, such as 1790000000", http.StatusBadRequest)
			return
		}
		after = time.Unix(unix, 0)
	}
	st, err := s.recent(r.Context())
	if err != nil {
		writeError(w, err)
		return
	}
	verdict, answer := st.IsBack(query.Get("node"), after)
	s.about(st, answer.Node, status.BackCollectors...)
	writeVerdict(w, r, codes[verdict], answer, answer.Reason)
}

// wavesAnswer is an answer of /waves.
type wavesAnswer struct {
	status.Verdict
	status.Waves
}

// serveWaves answers GET /waves?node=…&node=…, about all nodes without a node. It tells which nodes may stop together, in as few groups as possible, with
// the share that stays of each set. Statuses:
//
//   - 200: each node is in a group.
//   - 409: a node cannot stop now, or a node that restarted is not back.
//   - 503: currently unknown. 404: unknown node. 400: an empty name.
func (s *Site) serveWaves(w http.ResponseWriter, r *http.Request) {
	query, ok := parameters(w, r, "node…", "force", "hold")
	if !ok {
		return
	}
	names := query["node"]
	if slices.Contains(names, "") { // of an empty variable in a script: the answer would be about all nodes
		http.Error(w, "node: empty name: write a name of AVAX_NODES, or no node for all", http.StatusBadRequest)
		return
	}
	a, err := s.waves.get(r.Context(), query.Encode(), workWaiting+askedFor+time.Second, func(ctx context.Context) (wavesAnswer, error) {
		var found status.Waves
		verdict, reason := s.confirmed(ctx, query, func(st *status.Status) (verdict status.Verdict, stops []string) {
			verdict, found = st.Waves(names)
			if len(found.Waves) == 1 { // several groups are a plan, after which nobody stops all of them
				stops = names
			}
			return verdict, stops
		})
		if reason != "" {
			found = status.Waves{Reason: reason, Waves: []status.Wave{}}
		}
		return wavesAnswer{verdict, found}, nil
	})
	if err != nil {
		writeNotKnown(w, r)
		return
	}
	writeVerdict(w, r, codes[a.Verdict], a.Waves, a.Text())
}

// about makes the next answer about a node one about the present. The answer itself waits for no call.
func (s *Site) about(st *status.Status, node string, collectors ...string) {
	if s.Asked != nil && st.IsNode(node) {
		s.Asked(node, collectors...)
	}
}

// recent returns the status of the nodes. Requests within a second share it.
func (s *Site) recent(ctx context.Context) (*status.Status, error) {
	return s.ofNodes.get(ctx, "", s.patience(), func(context.Context) (*status.Status, error) { return s.statusOfNodes(time.Now()), nil })
}

// maxBehind is how many blocks a node may be behind in /serving without parameters.
const maxBehind = 20

// serving answers GET /serving?node=…&chain=… for load balancers. It waits for no call: it makes the node be probed soon, at most once in four seconds.
// Requests within a second share what it reads. blocks and seconds
// limit how far the node may be behind the best own node or observer; without both, blocks is 20. Statuses:
//
//   - 200: the node answers, is bootstrapped, executes, and is not further behind.
//   - 503: it does not, or this is not known from recent samples, with the reason.
//   - 400: no node or chain, or a limit is not a number. 404: unknown node.
func (s *Site) serving(w http.ResponseWriter, r *http.Request) {
	query, ok := parameters(w, r, "node", "chain", "blocks", "seconds")
	if !ok {
		return
	}
	limits := map[string]float64{"blocks": -1, "seconds": -1}
	if !query.Has("blocks") && !query.Has("seconds") {
		limits["blocks"] = maxBehind
	}
	for name := range limits {
		if text := query.Get(name); query.Has(name) {
			limit, err := strconv.ParseUint(text, 10, 32)
			if err != nil {
				http.Error(w, name+": write a whole number, such as "+name+"=20", http.StatusBadRequest)
				return
			}
			limits[name] = float64(limit)
		}
	}
	st, err := s.recent(r.Context())
	if err != nil {
		writeError(w, err)
		return
	}
	verdict, answer := st.Serves(query.Get("node"), query.Get("chain"), limits["blocks"], limits["seconds"])
	s.about(st, answer.Node, "up")
	writeVerdict(w, r, codes[verdict], answer, answer.Reason)
}

// safeToRemove answers GET /safe-to-remove?validation=…, with the validation ID or the name of a validator of a monitored L1 or permissioned
// subnet. Statuses:
//
//   - 200: the validator can be removed and its node stopped. At least 80 % of the remaining weight is active and connected,
//     another validator of the recorded view can build the next block, and /safe-to-stop has nothing against the stop for other chains.
//   - 409: it must not be removed, with the reason.
//   - 503: currently unknown, with the reason.
//   - 400: no validation parameter.
//   - 404: unknown validation ID.
//
// The answer is one line of text, or JSON if the request accepts application/json. It also tells what happens if the balance of the
// validator runs out.
func safeToRemove(st *status.Status, validation string) (verdict status.Verdict, about *status.Answer, answer any, stops string) {
	verdict, a := st.SafeToRemove(validation)
	return verdict, &a.Answer, &a, st.NodeOf(a.NodeID)
}

// maxDays is the maximum period of a plan in days.
const maxDays = 3650

// plan answers GET /api/v1/l1/<chain>/plan?days=30 for a monitored L1. The answer lists the validators to top up and the
// amounts that keep all of them active for this number of days. It also contains the time of the quorum loss without top-ups.
//
// The data is the last result of the collector l1_runway, even if /metrics does not serve its series. as_of is the P-Chain's
// time of the balances; durations start at this time. Amounts are exact to the nAVAX. After its top-up, a validator stays
// active for at least this number of days from now, at its current burn rate. An inactive validator becomes active.
//
// Errors: 400 if days is not a number from 1 to 3650, 404 if the L1 is not monitored, 503 if its validators or their burn rate
// are currently unknown.
func (s *Site) plan(w http.ResponseWriter, r *http.Request) {
	days := staking.TopUpDays
	if text := r.URL.Query().Get("days"); text != "" {
		var err error
		if days, err = strconv.Atoi(text); err != nil || days < 1 || days > maxDays {
			writeJSON(w, http.StatusBadRequest, status.NoPlan{Error: fmt.Sprintf("days=%s: write a whole number from 1 to %d", text, maxDays)})
			return
		}
	}
	plan, none := s.statusAt(time.Now()).Plan(r.PathValue("chain"), days)
	if none != nil {
		writeJSON(w, codes[none.Verdict], none)
		return
	}
	writeJSON(w, http.StatusOK, plan)
}

// writeNotKnown tells a client that asks for a verdict to retry.
func writeNotKnown(w http.ResponseWriter, r *http.Request) {
	writeVerdict(w, r, http.StatusServiceUnavailable, status.Answer{Reason: busy}, busy)
}

// writeVerdict writes an answer as JSON if the request accepts it, otherwise its reason as text. What is not known now may be known soon.
func writeVerdict(w http.ResponseWriter, r *http.Request, code int, answer any, reason string) {
	w.Header().Add("Vary", "Accept")
	if code == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", retryAfter)
	}
	if strings.Contains(strings.Join(r.Header.Values("Accept"), ","), "application/json") {
		writeJSON(w, code, answer)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(code)
	fmt.Fprintln(w, reason)
}

// writeJSON answers with the value as indented JSON.
func writeJSON(w http.ResponseWriter, status int, value any) {
	text, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		http.Error(w, "the answer cannot be written: "+err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(text, '\n'))
}
