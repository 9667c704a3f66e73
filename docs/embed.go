// Package docs embeds the runbooks, so that the exporter can show them without a network.
package docs

import "embed"

// Runbooks holds runbooks/NAME.md for each alert.
//
//go:embed runbooks/*.md
var Runbooks embed.FS
