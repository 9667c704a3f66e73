package metric

// Table is facts for people that have no series, such as who would vote no. Like
// samples it is replaced whole with each run, and never changed.
type Table struct {
	// About describes the rows in one sentence.
	About   string
	Columns []string
	// Rows have a cell for each column, plain text as an upstream may have spelled
	// it, in the order in which they are to be read.
	Rows [][]string
	// LeftOut counts the rows that were too many.
	LeftOut int
}

// MostRows is how many rows of tables one run may have.
const MostRows = 500
