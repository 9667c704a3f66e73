package config

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"go.yaml.in/yaml/v3"

	"github.com/avax-exporter/avax-exporter/internal/collector"
	"github.com/avax-exporter/avax-exporter/internal/spelling"
	"github.com/avax-exporter/avax-exporter/scrape/data"
)

// Labels are labels that the user gives to a node or a validator, such as owner and region.
type Labels map[string]string

// Limits of labels.
const (
	maxLabels     = 20  // of one node or validator
	maxLabelName  = 64  // bytes
	maxLabelValue = 256 // bytes, as for every series
)

// identifying are the labels of series and alerts that no user may give to a node or validator.
var identifying = []string{
	"about", "alertgroup", "alertname", "alertstate", "cause", "chain", "day", "digest", "exporter", "instance", "job", "label", "namespace", "needs",
	"node_id", "of", "pod", "reason", "scope", "severity", "validation_id", "value", "within",
}

// checkLabelName returns an error if a label cannot be given to nodes, validators and alerts.
func checkLabelName(label string) error {
	switch {
	case !labelForm.MatchString(label) || len(label) > maxLabelName:
		return fmt.Errorf("label %q: a name consists of letters, digits and underscores, at most %d characters, and does not begin with a digit", label, maxLabelName)
	case strings.HasPrefix(label, "__"), label == "node", slices.Contains(identifying, label):
		return fmt.Errorf("label %q: series and alerts use it already: choose another name", label)
	}
	return nil
}

// AlertLabels are the labels of nodes and validators that each alert gets.
type AlertLabels []string

// Decode parses a list of names.
func (l *AlertLabels) Decode(s string) error {
	*l = slices.Collect(fields(s, ","))
	return each(s, ",", checkLabelName)
}

// check validates labels. The error joins all problems.
func (l Labels) check() (err error) {
	for _, name := range slices.Sorted(maps.Keys(l)) {
		err = errors.Join(err, checkLabelName(name))
		if len(l[name]) > maxLabelValue {
			err = errors.Join(err, fmt.Errorf("label %q: the value has more than %d bytes: shorten it", name, maxLabelValue))
		}
	}
	if len(l) > maxLabels {
		err = errors.Join(err, fmt.Errorf("%d labels: write at most %d", len(l), maxLabels))
	}
	return err
}

// labelled is a validator with its labels. The kind is node_id or validation_id.
type labelled struct {
	kind, id string
	labels   Labels
}

var validationIDForm = regexp.MustCompile(`^[1-9A-HJ-NP-Za-km-z]{40,60}$`)

// validatorsFile returns the validators of a file that maps node IDs and validation IDs to labels.
func (r *reader) validatorsFile(file string) (all []labelled) {
	text, err := r.open(file)
	if err != nil {
		r.note(&r.ValidatorsFile, err)
		return nil
	}
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil || len(document.Content) > 0 && document.Content[0].Kind != yaml.MappingNode {
		r.note(&r.ValidatorsFile, fmt.Errorf("%s: %w", file, errors.Join(err, errors.New("write each validator as ID: {name: …, owner: …}"))))
		return nil
	}
	if len(document.Content) == 0 {
		return nil
	}
	lines := map[string]int{}
	for pairs := document.Content[0].Content; len(pairs) > 1; pairs = pairs[2:] {
		id, v := pairs[0].Value, labelled{kind: "node_id", id: pairs[0].Value}
		err := pairs[1].Decode(&v.labels)
		switch {
		case err != nil:
			err = errors.New("write the labels as name: value, each value as a text")
		case lines[id] > 0:
			err = fmt.Errorf("duplicate ID %s: remove it here or in line %d", id, lines[id])
		case validationIDForm.MatchString(id):
			v.kind = "validation_id"
		case !nodeIDForm.MatchString(id):
			err = errors.New(spelling.Wrong(id, "write a node ID, such as NodeID-7Xh…, or a validation ID"))
		}
		if err == nil {
			err = data.CheckDigits(id)
		}
		if err == nil {
			err = v.labels.check()
		}
		r.noteAt(&r.ValidatorsFile, fmt.Sprintf("%s, line %d", file, pairs[0].Line), err)
		lines[id] = pairs[0].Line
		all = append(all, v)
	}
	return all
}

// Labels returns the labels that the user gave, by the name of the node, and by the node ID or validation ID of the validator.
func (u Upstreams) Labels() map[string]map[string]string {
	all := map[string]map[string]string{}
	for _, n := range u.Nodes {
		all[n.Name] = n.Labels
	}
	for _, v := range u.Validators {
		all[v.id] = v.labels
	}
	return all
}

// labelsCollector exports the labels of nodes and validators, and the names of what else is monitored.
type labelsCollector func() Upstreams

const (
	nodeLabelsHelp  = "Labels of the node in AVAX_NODES_FILE, each as a label of this series; always 1."
	watchLabelsHelp = "Name of a monitored address, asset or NFT; always 1. An address has the labels address and name. An asset has asset_id and " +
		"name. An NFT has chain, contract, token and name."
	validatorLabelsHelp = "Labels of the validator in AVAX_VALIDATORS_FILE, each as a label of this series; always 1. The label node_id or validation_id says " +
		"how the file lists the validator."
)

// ExportLabels registers the labels of the nodes and validators in use, and the names of what else is monitored.
func ExportLabels(reg prometheus.Registerer, inUse func() Upstreams) {
	reg.MustRegister(labelsCollector(inUse))
}

// Describe implements prometheus.Collector. The labels of the user are not known in advance.
func (c labelsCollector) Describe(descs chan<- *prometheus.Desc) {
	descs <- prometheus.NewDesc("avax_node_labels", nodeLabelsHelp, []string{"node"}, nil)
	descs <- prometheus.NewDesc("avax_validator_labels", validatorLabelsHelp, []string{"node_id", "validation_id", "name"}, nil)
	descs <- prometheus.NewDesc("avax_watch_labels", watchLabelsHelp, []string{"address", "asset_id", "chain", "contract", "token", "name"}, nil)
}

// Collect implements prometheus.Collector.
func (c labelsCollector) Collect(out chan<- prometheus.Metric) {
	export := func(family, help, kind, id string, labels Labels) {
		names, values := []string{kind}, []string{id}
		for _, name := range slices.Sorted(maps.Keys(labels)) {
			if labels[name] != "" {
				names, values = append(names, name), append(values, labels[name])
			}
		}
		if len(names) > 1 {
			out <- prometheus.MustNewConstMetric(prometheus.NewDesc(family, help, names, nil), prometheus.GaugeValue, 1, values...)
		}
	}
	u := c()
	for _, n := range u.Nodes {
		export("avax_node_labels", nodeLabelsHelp, "node", n.Name, n.Labels)
	}
	for _, v := range u.Validators {
		export("avax_validator_labels", validatorLabelsHelp, v.kind, v.id, v.labels)
	}
	named := map[string]bool{} // an address in two sections has its first name
	items := func(kind string, items []collector.Item) {
		for _, i := range items {
			if i.Name != i.Value && !named[i.Value] {
				named[i.Value] = true
				export("avax_watch_labels", watchLabelsHelp, kind, i.Value, Labels{"name": i.Name})
			}
		}
	}
	w := u.Watch
	items("address", slices.Concat(w.Addresses, w.EVM, w.Delegators, w.Contracts))
	items("asset_id", w.Assets)
	for _, t := range w.Tokens {
		if t.Name != "" {
			export("avax_watch_labels", watchLabelsHelp, "token", t.ID, Labels{"chain": t.Chain, "contract": t.Contract, "name": t.Name})
		}
	}
}
