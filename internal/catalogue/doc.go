// Package catalogue has only tests. They compare the rules, the dashboards and the documentation with the families that the
// program declares.
package catalogue
