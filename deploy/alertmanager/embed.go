// Package alertmanager holds the shipped Alertmanager configuration.
package alertmanager

import _ "embed"

// Config is alertmanager.yml: routes, and which alert inhibits which.
//
//go:embed alertmanager.yml
var Config []byte

// Templates is avax.tmpl: the texts of notifications.
//
//go:embed avax.tmpl
var Templates []byte
