package pack_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/avax-exporter/avax-exporter/internal/pack"
)

// Whatever is strung together, a reader that knows gzip and nothing else, and
// that checks sum and length, finds one member with the text in its order.
func TestBlocksStrungTogetherAreOneGzipMember(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var want []byte
		var page pack.Page
		for range rapid.IntRange(0, 5).Draw(t, "blocks") {
			word := rapid.SliceOfN(rapid.Byte(), 0, 50).Draw(t, "word")
			text := bytes.Repeat(word, rapid.SampledFrom([]int{1, 2, 1000, 5000}).Draw(t, "times"))
			want = append(want, text...)
			page = append(page, pack.Pack(text))
		}
		for name, p := range map[string]pack.Page{"page": page, "joined": {pack.Join(page)}} {
			var zipped bytes.Buffer
			if err := p.WriteGzip(&zipped); err != nil {
				t.Fatal(err)
			}
			if zipped.Len() != p.GzipLen() || p.Len() != len(want) {
				t.Errorf("%s: %d bytes of %d, not %d of %d", name, zipped.Len(), len(want), p.GzipLen(), p.Len())
			}
			reader, err := gzip.NewReader(&zipped)
			if err != nil {
				t.Fatal(err)
			}
			reader.Multistream(false)
			got, err := io.ReadAll(reader)
			if err != nil || !bytes.Equal(got, want) {
				t.Errorf("%s: unzipped %d bytes, want %d: %v", name, len(got), len(want), err)
			}
			if zipped.Len() != 0 {
				t.Errorf("%s: %d bytes follow the member", name, zipped.Len())
			}
			var text bytes.Buffer
			if n, err := p.WriteTo(&text); err != nil || n != int64(len(want)) || !bytes.Equal(text.Bytes(), want) {
				t.Errorf("%s: unpacked %d bytes, want %d: %v", name, n, len(want), err)
			}
		}
	})
}

func TestAPackerKeepsTheOrderOfTextAndBlocks(t *testing.T) {
	var p pack.Packer
	long := strings.Repeat("many words, ", 10000)
	for _, text := range []string{"a", long, "b"} {
		if _, err := io.WriteString(&p, text); err != nil {
			t.Fatal(err)
		}
	}
	p.Add(pack.Pack([]byte("c")))
	if _, err := io.WriteString(&p, "d"); err != nil {
		t.Fatal(err)
	}
	if got := string(pack.Join(p.Page()).Append([]byte("-"))); got != "-a"+long+"bcd" {
		t.Errorf("%d bytes in another order", len(got))
	}
}

type gone struct{}

func (gone) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestAReaderThatWentAwayIsAnError(t *testing.T) {
	page := pack.Page{pack.Pack([]byte("text"))}
	if err := page.WriteGzip(gone{}); err == nil {
		t.Error("gzip: no error")
	}
	if _, err := page.WriteTo(gone{}); err == nil {
		t.Error("text: no error")
	}
	// What is kept for the next reader is as new.
	if got := string(page[0].Append(nil)); got != "text" {
		t.Errorf("then %q", got)
	}
}
