// Package dashboards holds the Grafana dashboards that are built in. They are
// drawn by the command draw: change it there, then run make docs.
package dashboards

//go:generate go run ./draw

import (
	"embed"
	"fmt"
	"slices"
	"strings"
)

// Files holds every dashboard. grafana.json, the overview, is for every operator.
//
//go:embed *.json
var Files embed.FS

// Their names do not end in .json: Grafana would load those of one uid twice, as
// provisioning reads all below a directory.
//
//go:embed profiles/*.dashboard
var profiles embed.FS

// Profiles are the names that Overview knows.
func Profiles() []string { return []string{"all", "validator", "l1"} }

// Overview returns the dashboard that an operator of this profile opens first.
// Others than grafana.json, the profile all, have no panels about what the
// operator does not have. The error tells the known names.
func Overview(profile string) ([]byte, error) {
	switch {
	case !slices.Contains(Profiles(), profile):
		return nil, fmt.Errorf("unknown profile %q: use one of %s", profile, strings.Join(Profiles(), ", "))
	case profile == "all":
		return Files.ReadFile("grafana.json")
	}
	return profiles.ReadFile("profiles/" + profile + ".dashboard")
}
