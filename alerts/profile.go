package alerts

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// ProfileAll is the profile that holds every rule.
const ProfileAll = "all"

// Profiles returns the valid names for Profile.
func Profiles() []string { return []string{ProfileAll, "validator", "l1", "rpc", "delegator"} }

// recorded matches the names of the series that rules.yml records.
var recorded = regexp.MustCompile(`avax:\w+`)

// Profile returns the part of rules.yml for one kind of operator, in the same format. It contains the alerts with this name in the
// annotation profiles, and the recording rules that these alerts need. The profile all is the whole file. The error for an unknown
// name lists the valid names.
func Profile(name string) ([]byte, error) {
	if name == ProfileAll {
		return bytes.Clone(Rules), nil
	}
	if !slices.Contains(Profiles(), name) {
		return nil, fmt.Errorf("unknown profile %q: use one of %s", name, strings.Join(Profiles(), ", "))
	}
	var file yaml.Node
	if err := yaml.Unmarshal(Rules, &file); err != nil {
		return nil, fmt.Errorf("rules.yml: %w", err)
	}
	var all []*yaml.Node // the rules of all groups
	groups := field(file.Content[0], "groups")
	for _, g := range groups.Content {
		all = append(all, field(g, "rules").Content...)
	}

	kept, needed := map[*yaml.Node]bool{}, map[string]bool{}
	for grown := true; grown; {
		grown = false
		for _, r := range all {
			if kept[r] || !needed[text(r, "record")] && !slices.Contains(strings.Fields(text(field(r, "annotations"), "profiles")), name) {
				continue
			}
			kept[r], grown = true, true
			for _, series := range recorded.FindAllString(text(r, "expr"), -1) {
				needed[series] = true
			}
			for _, query := range values(field(r, "annotations")) {
				for _, series := range recorded.FindAllString(query, -1) {
					needed[series] = true
				}
			}
		}
	}

	for _, g := range groups.Content {
		rules := field(g, "rules")
		rules.Content = slices.DeleteFunc(rules.Content, func(r *yaml.Node) bool { return !kept[r] })
	}
	groups.Content = slices.DeleteFunc(groups.Content, func(g *yaml.Node) bool { return len(field(g, "rules").Content) == 0 })

	return write(&file)
}

// WithDigest adds the rules of the weekly digest to rules. Rules and result are in the format of rules.yml.
func WithDigest(rules []byte) ([]byte, error) {
	var file, digest yaml.Node
	if err := errors.Join(yaml.Unmarshal(rules, &file), yaml.Unmarshal(Digest, &digest)); err != nil {
		return nil, err
	}
	groups := field(file.Content[0], "groups")
	groups.Content = append(groups.Content, field(digest.Content[0], "groups").Content...)
	return write(&file)
}

func write(file *yaml.Node) ([]byte, error) {
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	if err := encoder.Encode(file); err != nil {
		return nil, fmt.Errorf("rules: %w", err)
	}
	return out.Bytes(), nil
}

// field returns the value of a key of a mapping; nil if there is no such key.
func field(mapping *yaml.Node, key string) *yaml.Node {
	if mapping == nil {
		return nil
	}
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == key {
			return mapping.Content[i+1]
		}
	}
	return nil
}

// text returns the text of a key of a mapping; "" if there is no such key.
func text(mapping *yaml.Node, key string) string {
	if value := field(mapping, key); value != nil {
		return value.Value
	}
	return ""
}

// values returns the texts of a mapping's values.
func values(mapping *yaml.Node) (all []string) {
	if mapping != nil {
		for i := 1; i < len(mapping.Content); i += 2 {
			all = append(all, mapping.Content[i].Value)
		}
	}
	return all
}
