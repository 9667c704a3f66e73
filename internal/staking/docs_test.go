package staking_test

import (
	"fmt"
	"math"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/staking"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
)

// TestWorkedExamplesInDocsAreCorrect computes each line with an arrow in the examples of docs/staking.md.
func TestWorkedExamplesInDocsAreCorrect(t *testing.T) {
	page := must.Get(os.ReadFile("../../docs/staking.md"))(t)
	computed := map[string]int{}
	for _, box := range regexp.MustCompile("(?ms)^```example\n(.*?)^```").FindAllSubmatchIndex(page, -1) {
		e := example{t: t, line: 1 + strings.Count(string(page[:box[2]]), "\n")}
		for line := range strings.Lines(string(page[box[2]:box[3]])) {
			line, _, _ = strings.Cut(line, "#")
			asked, want, isQuestion := strings.Cut(line, "->")
			if words := strings.Fields(asked); len(words) > 0 {
				got := e.read(words[0], words[1:])
				if isQuestion {
					computed[words[0]]++
				}
				if want = strings.TrimSpace(want); got != want {
					t.Errorf("docs/staking.md:%d: %s\n says %s\n  but %s", e.line, strings.TrimSpace(asked), want, got)
				}
			}
			e.line++
		}
	}
	for _, question := range []string{
		"requirement", "budget", "known", "uptime", "yes", "dissenters", "burn",
		"runway", "run-outs", "quorum-loss", "floor", "plan", "quorum", "without", "reward", "room", "fee",
	} {
		if computed[question] == 0 {
			t.Errorf("docs/staking.md has no example of %s", question)
		}
	}
}

// example is one example box, with its statements so far.
type example struct {
	t    *testing.T
	line int

	period  staking.Period
	views   []staking.View
	stake   uint64
	set     []staking.Validator
	meter   staking.Meter
	members []member

	conversion map[string]float64 // K of each network
}

// read stores a statement, or computes the result that a statement with an arrow requests.
func (e *example) read(word string, args []string) string {
	e.t.Helper()
	named := map[string]string{}
	var plain []string
	for _, arg := range args {
		if key, value, ok := strings.Cut(arg, "="); ok {
			named[key] = value
		} else {
			plain = append(plain, arg)
		}
	}
	poll := func() staking.Poll { return staking.NewPoll(e.views, e.stake) }

	switch word {
	case "period":
		e.period = staking.Period{Start: e.time(named["start"]), End: e.time(named["end"])}
	case "view":
		e.views = append(e.views, staking.View{NodeID: plain[0], Stake: e.whole(named["stake"]), Uptime: e.number(named["uptime"])})
	case "total":
		e.stake = e.whole(named["stake"])
	case "validator":
		v := staking.Validator{ID: plain[0], Weight: e.whole(named["weight"]), Legacy: slices.Contains(plain, "legacy")}
		if !v.Legacy {
			v.Balance, v.Burn = e.whole(named["balance"]), e.number(named["burn"])
		}
		e.set = append(e.set, v)
	case "reading":
		e.meter.Add(staking.Reading{At: e.time("2026-10-01T" + plain[0] + "Z"), Balance: e.whole(plain[1])})
	case "member":
		e.members = append(e.members, member{plain[0], e.whole(named["weight"]), slices.Contains(plain, "up")})

	case "requirement":
		var helicon *time.Time
		if at, ok := named["helicon"]; ok {
			helicon = new(time.Time)
			*helicon = e.time(at)
		}
		return number(staking.Requirement(e.time(named["start"]), helicon))
	case "budget":
		b := staking.NewDowntimeBudget(e.period, e.period.Start.Add(e.duration(named["after"])), e.number(named["uptime"]), e.number(named["requirement"]))
		verdict := "reachable"
		if !b.Reachable() {
			verdict = "not reachable"
		}
		return fmt.Sprintf("allowed %s, used %s, left %s, %s", hours(b.Allowed), hours(b.Used), hours(left(b)), verdict)
	case "reward":
		var helicon *time.Time
		if at, ok := named["helicon"]; ok {
			helicon = new(time.Time)
			*helicon = e.time(at)
		}
		return avax(staking.Reward(e.whole(named["stake"]), e.whole(named["supply"]), e.duration(named["length"]), e.time(named["start"]), helicon))
	case "room":
		return avax(staking.DelegationRoom(e.whole(named["stake"]), e.whole(named["delegated"])))
	case "known":
		return number(poll().Known())
	case "uptime":
		if mean, known := poll().Uptime(); known {
			return number(mean)
		}
		return "not known"
	case "yes":
		return number(poll().Yes(e.number(plain[0])))
	case "dissenters":
		var ids []string
		for _, v := range poll().Dissenters(e.number(plain[0]), int(e.whole(plain[1]))) {
			ids = append(ids, v.NodeID)
		}
		return strings.Join(ids, ", ")
	case "burn":
		if burn, known := e.meter.Burn(); known {
			return number(burn)
		}
		return "not known"
	case "runway":
		i := slices.IndexFunc(e.set, func(v staking.Validator) bool { return v.ID == plain[0] })
		if left, ends := staking.Runway(e.set[i].Balance, e.set[i].Burn); ends {
			return days(left)
		}
		return "never ends"
	case "run-outs":
		var outs []string
		for _, out := range staking.RunOuts(e.set) {
			outs = append(outs, fmt.Sprintf("%s after %s leaves %d", out.ID, days(out.After), out.ActiveWeight))
		}
		return strings.Join(outs, ", ")
	case "quorum-loss":
		if after, lost := staking.QuorumLoss(e.set, e.number(plain[0])); lost {
			return "after " + days(after)
		}
		return "never"
	case "network":
		if e.conversion == nil {
			e.conversion = map[string]float64{}
		}
		e.conversion[plain[0]] = e.number(named["K"])
	case "fee":
		x := e.number(named["above"]) * e.duration(named["for"]).Seconds()
		return number(math.Round(staking.MainnetFloor * math.Exp(x/e.conversion[plain[0]])))
	case "floor":
		return number(staking.MainnetFloor)
	case "quorum":
		return number(staking.Quorum)
	case "plan":
		var tops []string
		var all uint64
		for _, top := range staking.Plan(e.set, e.duration(plain[0])) {
			tops = append(tops, top.ID+" "+avax(top.Amount))
			all += top.Amount
		}
		return strings.Join(tops, ", ") + "; " + avax(all) + " in all"
	case "without":
		return number(without(e.members, plain[0]))
	default:
		e.t.Fatalf("docs/staking.md:%d: no example is called %q", e.line, word)
	}
	return ""
}

func (e *example) must(err error) {
	e.t.Helper()
	if err != nil {
		e.t.Fatalf("docs/staking.md:%d: %v", e.line, err)
	}
}

func (e *example) time(s string) time.Time {
	e.t.Helper()
	v, err := time.Parse(time.RFC3339, s)
	e.must(err)
	return v
}

func (e *example) duration(s string) time.Duration {
	e.t.Helper()
	if count, ok := strings.CutSuffix(s, "d"); ok {
		return time.Duration(e.whole(count)) * 24 * time.Hour
	}
	v, err := time.ParseDuration(s)
	e.must(err)
	return v
}

func (e *example) whole(s string) uint64 {
	e.t.Helper()
	v, err := strconv.ParseUint(s, 10, 64)
	e.must(err)
	return v
}

func (e *example) number(s string) float64 {
	e.t.Helper()
	v, err := strconv.ParseFloat(s, 64)
	e.must(err)
	return v
}

func number(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

func hours(d time.Duration) string { return number(d.Hours()) + "h" }

// days formats whole days as days, and other durations in hours.
func days(d time.Duration) string {
	if day := 24 * time.Hour; d > 0 && d%day == 0 {
		return fmt.Sprintf("%dd", d/day)
	}
	return hours(d)
}

func avax(n uint64) string { return number(float64(n)/1e9) + " AVAX" }
