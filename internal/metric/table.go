package metric

// Table holds facts that are not series, such as the peers that observed too little uptime. A table never changes. Each run
// replaces it as a whole.
type Table struct {
	// About describes the rows in one sentence.
	About   string
	Columns []string
	// Rows have one cell per column, in display order. A cell is plain text, possibly from an upstream.
	Rows [][]string
	// LeftOut is the number of dropped rows.
	LeftOut int
}

// MostRows is the maximum number of table rows of one run.
const MostRows = 500
