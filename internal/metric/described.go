package metric

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
)

var descText = regexp.MustCompile(`^Desc\{fqName: "([^"]+)", help: ("(?:[^"\\]|\\.)*"), unit: "[^"]*", constLabels: \{\}, variableLabels: \{([^}]*)\}\}$`)

// Described returns the name, the help and the labels of each family that a collector of client_golang describes. It parses their text, since
// client_golang has no other access to them.
func Described(c prometheus.Collector) (all []*Family) {
	descs := make(chan *prometheus.Desc)
	go func() {
		defer close(descs)
		c.Describe(descs)
	}()
	for d := range descs {
		m := descText.FindStringSubmatch(d.String())
		if m == nil {
			panic("metric: cannot parse " + d.String()) // a version of client_golang with another text
		}
		f := &Family{Name: m[1]}
		f.Help, _ = strconv.Unquote(m[2])
		if m[3] != "" {
			f.Labels = strings.Split(m[3], ",")
		}
		all = append(all, f)
	}
	return all
}
