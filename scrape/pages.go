package scrape

import "errors"

// Place is how far a list was read. It may be stored, and reading continues there. The zero Place is before the first page.
type Place struct {
	Token string `json:",omitempty"` // of the next page; empty: the first
	Pages int    `json:",omitempty"` // that were read before it
	Mark  string `json:",omitempty"` // an earlier token: that of the last page whose number was a power of two
}

// Follow moves to the page of a token. It returns an error if the pages repeat: the tokens of a cycle of any length meet the mark, soon
// after there were as many pages as the cycle has (Brent's algorithm).
func (at *Place) Follow(token string) error {
	if token == at.Token || token == at.Mark {
		return ErrRepeatedToken
	}
	at.Token = token
	if at.Pages++; at.Pages&(at.Pages-1) == 0 {
		at.Mark = token
	}
	return nil
}

// ErrRepeatedToken is the cause of BadPage for pages that repeat: a page names itself or an earlier page as the next one.
var ErrRepeatedToken = errors.New("the pages repeat: the token of the next page is that of an earlier page")
