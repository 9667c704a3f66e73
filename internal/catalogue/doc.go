// Package catalogue knows every family that the program declares. Its tests compare the dashboards and the documentation with them; the compiler of
// the alert rules compares the rules.
package catalogue
