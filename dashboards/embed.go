// Package dashboards holds the built-in Grafana dashboards. The command draw generates them: change it, then run make docs.
package dashboards

//go:generate go run ./draw

import "embed"

// Files holds all dashboards. grafana.json, the overview, is for every operator.
//
//go:embed *.json
var Files embed.FS
