package explain

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// Page is what /metrics served at one moment.
type Page struct {
	At      time.Time
	samples map[string][]Sample
}

// Sample is one line of the page.
type Sample struct {
	Name   string
	Labels map[string]string
	Value  float64
}

// Read reads a page in the text format, as it was served at that time.
func Read(r io.Reader, at time.Time) (*Page, error) {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(r)
	if err != nil {
		return nil, err
	}
	p := &Page{At: at, samples: map[string][]Sample{}}
	ours := false
	for name, f := range families {
		ours = ours || strings.HasPrefix(name, "avax_")
		for _, m := range f.GetMetric() {
			s := Sample{Name: name, Labels: map[string]string{}}
			for _, l := range m.GetLabel() {
				s.Labels[l.GetName()] = l.GetValue()
			}
			switch {
			case m.Gauge != nil:
				s.Value = m.Gauge.GetValue()
			case m.Counter != nil:
				s.Value = m.Counter.GetValue()
			default:
				continue // a histogram is read on the page itself
			}
			p.samples[name] = append(p.samples[name], s)
		}
		slices.SortFunc(p.samples[name], func(a, b Sample) int { return strings.Compare(a.String(), b.String()) })
	}
	if !ours {
		return nil, errEmpty
	}
	return p, nil
}

// kin says which labels of an info family name one thing.
var kin = map[string][]string{
	"avax_node_info":         {"node", "node_id"},
	"avax_chain_info":        {"chain", "blockchain_id", "subnet_id"},
	"avax_l1_validator_info": {"node_id", "validation_id"},
}

// alike returns the label values that stand for the target: a node's name also
// for its ID, a chain's for its IDs.
func (p *Page) alike(target string) map[string]bool {
	near := map[string]bool{target: true}
	for _, name := range []string{"avax_node_info", "avax_chain_info", "avax_l1_validator_info"} {
		for _, s := range p.samples[name] {
			for _, l := range kin[name] {
				if s.Labels[l] != target {
					continue
				}
				for _, other := range kin[name] {
					near[s.Labels[other]] = true
				}
			}
		}
	}
	return near
}

// knows tells whether some sample's labels are such.
func (p *Page) knows(such func(labels map[string]string) bool) bool {
	for _, family := range p.samples {
		for _, s := range family {
			if len(s.Labels) > 0 && such(s.Labels) {
				return true
			}
		}
	}
	return false
}

// String is the sample as the text format has it; times and long spans are read
// out for people.
func (s Sample) String() string {
	var labels []string
	for l, v := range s.Labels {
		labels = append(labels, fmt.Sprintf("%s=%q", l, v))
	}
	slices.Sort(labels)
	text := s.Name
	if len(labels) > 0 {
		text += "{" + strings.Join(labels, ",") + "}"
	}
	text += " " + s.number()
	switch {
	case strings.HasSuffix(s.Name, "_timestamp_seconds") && s.Value > 0 && s.Value < 1e11:
		text += " (" + time.Unix(int64(s.Value), 0).UTC().Format("2006-01-02 15:04:05 UTC") + ")"
	case strings.HasSuffix(s.Name, "_seconds") && math.Abs(s.Value) >= 120 && math.Abs(s.Value) < 9e9:
		text += " (" + span(s.Value) + ")"
	}
	return text
}

func (s Sample) number() string { return number(s.Value) }

// number writes a value without an exponent where a person would.
func number(v float64) string {
	if a := math.Abs(v); a >= 1e-4 && a < 1e15 || a == 0 {
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}

// span reads seconds out.
func span(seconds float64) string {
	d := time.Duration(seconds * float64(time.Second)).Round(time.Second)
	if days := d / (24 * time.Hour); days != 0 {
		return fmt.Sprintf("%dd %s", days, (d % (24 * time.Hour)).Abs().Truncate(time.Minute))
	}
	return d.String()
}
