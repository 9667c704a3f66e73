package compile

import (
	"bytes"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// suppression says that an alert is the cause of others: while it fires, Alertmanager does not notify of them.
type suppression struct {
	If        []string // matchers of the cause, in addition to its name
	Effects   []string // patterns of names, or kinds such as node; empty, for all alerts of a file: any
	Except    []string // names that a kind does not mean
	Of        []string // matchers of the effects
	On        []string // labels that are equal, in addition to those of the site
	Companion bool     // the effects are alerts of companion.yml about the same site: the cause has another job

	comment string
}

// siteLabels distinguish sites, and of one site the exporters.
var (
	siteLabels     = []string{"cluster", "datacenter", "environment", "region", "site", "zone"}
	exporterLabels = append([]string{"job", "namespace"}, siteLabels...)
)

// inhibition is a rule of Alertmanager.
type inhibition struct {
	causes, effects []string
	suppression
}

// Inhibitions returns the section inhibit_rules of Alertmanager's configuration.
func Inhibitions(rules, companion fs.FS) ([]byte, error) {
	own, err := read(rules)
	if err != nil {
		return nil, err
	}
	others, err := read(companion)
	if err != nil {
		return nil, err
	}
	var all []inhibition
	for _, in := range [][]file{own, others} {
		for _, f := range in {
			if all, err = inhibitions(all, "", f.Suppresses, nil, nil); err != nil {
				return nil, err
			}
			for i := range f.Rules {
				if all, err = inhibitions(all, f.Rules[i].Alert, f.Rules[i].Suppresses, in, others); err != nil {
					return nil, err
				}
			}
		}
	}
	var out bytes.Buffer
	out.WriteString("inhibit_rules:\n")
	for _, i := range all {
		i.write(&out)
	}
	return out.Bytes(), nil
}

func readComments(all []suppression, list *yaml.Node) {
	for i, n := range list.Content {
		all[i].comment = n.HeadComment
	}
}

// inhibitions adds those of an alert. Causes of the same effects share one.
func inhibitions(all []inhibition, cause string, suppresses []suppression, own, companion []file) ([]inhibition, error) {
	for _, s := range suppresses {
		added := inhibition{suppression: s}
		if cause != "" {
			files := own
			if s.Companion {
				files = companion
			}
			effects, err := s.effects(cause, files)
			if err != nil {
				return nil, fmt.Errorf("%s: suppresses: %w", cause, err)
			}
			added.causes, added.effects = []string{cause}, effects
		}
		same := func(i inhibition) bool {
			return cause != "" && i.Companion == s.Companion && slices.Equal(i.effects, added.effects) &&
				slices.Equal(i.If, s.If) && slices.Equal(i.Of, s.Of) && slices.Equal(i.On, s.On)
		}
		if at := slices.IndexFunc(all, same); at >= 0 {
			all[at].causes = append(all[at].causes, cause)
		} else {
			all = append(all, added)
		}
	}
	return all, nil
}

// effects returns the names of the alerts that are meant. A kind does not mean the cause itself.
func (s suppression) effects(cause string, files []file) (names []string, err error) {
	used := map[string]bool{}
	for _, f := range files {
		for _, e := range f.Rules {
			for _, word := range append(s.Effects, s.Except...) {
				_, kind := kinds[word]
				switch {
				case e.Alert == "" || !kind && !regexp.MustCompile("^(?:"+word+")$").MatchString(e.Alert) || kind && e.About != word:
				case kind && (e.Alert == cause || slices.Contains(s.Except, e.Alert)), slices.Contains(s.Except, word):
					used[word] = true
				default:
					used[word], names = true, append(names, e.Alert)
				}
			}
		}
	}
	for _, word := range append(s.Effects, s.Except...) {
		if !used[word] {
			return nil, fmt.Errorf("%s is no alert: write a name, a pattern of names, or what alerts are about", word)
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

func (i inhibition) write(out *bytes.Buffer) {
	for line := range strings.Lines(i.comment) {
		fmt.Fprintf(out, "  %s\n", strings.TrimSpace(line))
	}
	site := exporterLabels
	if i.Companion {
		site = siteLabels
	}
	fmt.Fprintf(out, "  - source_matchers: [%s]\n    target_matchers: [%s]\n    equal: [%s]\n", matching(i.causes, i.If), matching(i.effects, i.Of),
		strings.Join(slices.Concat(site, i.On), ", "))
}

// matching returns matchers of the names of alerts, if there are any, and others.
func matching(names, matchers []string) string {
	switch len(names) {
	case 0:
	case 1:
		matchers = slices.Insert(slices.Clone(matchers), 0, `alertname="`+names[0]+`"`)
	default:
		matchers = slices.Insert(slices.Clone(matchers), 0, `alertname=~"`+strings.Join(names, "|")+`"`)
	}
	return "'" + strings.Join(matchers, "', '") + "'"
}
