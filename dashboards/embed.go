// Package dashboards holds the Grafana dashboards that are built in. They are
// drawn by the command draw: change it there, then run make docs.
package dashboards

//go:generate go run ./draw

import "embed"

// Overview is grafana.json, the dashboard that an operator opens first.
//
//go:embed grafana.json
var Overview []byte

// Files holds every dashboard.
//
//go:embed *.json
var Files embed.FS
