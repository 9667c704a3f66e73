// Package catalogue holds no code of the program: its tests hold the rules,
// the dashboards and the pages of the documentation to the families that the
// program declares.
package catalogue
