// Package dashboards holds the built-in Grafana dashboards. The command draw generates them: change it, then run make docs.
package dashboards

//go:generate go run ./draw

import (
	"embed"
	"fmt"
	"slices"
	"strings"
)

// Files holds all dashboards. grafana.json, the overview, is for every operator.
//
//go:embed *.json
var Files embed.FS

// The names do not end in .json, because Grafana's provisioning reads all directories below and would find duplicate uids.
//
//go:embed profiles/*.dashboard
var profiles embed.FS

// Profiles returns the profiles that Overview knows.
func Profiles() []string { return []string{"all", "validator", "l1"} }

// Overview returns the start dashboard for this profile. All profiles but all, grafana.json, omit panels for things that
// the operator does not have. The error lists the known names.
func Overview(profile string) ([]byte, error) {
	switch {
	case !slices.Contains(Profiles(), profile):
		return nil, fmt.Errorf("unknown profile %q: use one of %s", profile, strings.Join(Profiles(), ", "))
	case profile == "all":
		return Files.ReadFile("grafana.json")
	}
	return profiles.ReadFile("profiles/" + profile + ".dashboard")
}
