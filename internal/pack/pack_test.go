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

// A gzip reader that checks sum and length finds one member with the text in order, for any blocks.
func TestConcatenatedBlocksAreOneGzipMember(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var want []byte
		var page pack.Blocks
		for range rapid.IntRange(0, 5).Draw(t, "blocks") {
			word := rapid.SliceOfN(rapid.Byte(), 0, 50).Draw(t, "word")
			text := bytes.Repeat(word, rapid.SampledFrom([]int{1, 2, 1000, 5000}).Draw(t, "times"))
			want = append(want, text...)
			page = append(page, pack.Pack(text))
		}
		var zipped bytes.Buffer
		if err := page.WriteGzip(&zipped); err != nil {
			t.Fatal(err)
		}
		if zipped.Len() != page.GzipLen() || page.Len() != len(want) {
			t.Errorf("%d bytes compressed, %d of text, want %d and %d", zipped.Len(), len(want), page.GzipLen(), page.Len())
		}
		reader, err := gzip.NewReader(&zipped)
		if err != nil {
			t.Fatal(err)
		}
		reader.Multistream(false)
		got, err := io.ReadAll(reader)
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("decompressed %d bytes, want %d: %v", len(got), len(want), err)
		}
		if zipped.Len() != 0 {
			t.Errorf("%d bytes follow the member", zipped.Len())
		}
		var text bytes.Buffer
		if n, err := page.WriteTo(&text); err != nil || n != int64(len(want)) || !bytes.Equal(text.Bytes(), want) {
			t.Errorf("unpacked %d bytes, want %d: %v", n, len(want), err)
		}
	})
}

func TestPackerKeepsOrder(t *testing.T) {
	var p pack.Packer
	long := strings.Repeat("many words, ", 10000)
	for _, text := range []string{"a", long, "b"} {
		if _, err := io.WriteString(&p, text); err != nil {
			t.Fatal(err)
		}
	}
	p.Add(pack.Blocks{pack.Pack([]byte("c"))})
	if _, err := io.WriteString(&p, "d"); err != nil {
		t.Fatal(err)
	}
	if got := string(p.Blocks().Append([]byte("-"))); got != "-a"+long+"bcd" {
		t.Errorf("%d bytes in the wrong order", len(got))
	}
}

type gone struct{}

func (gone) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestWriteErrorIsReturned(t *testing.T) {
	page := pack.Blocks{pack.Pack([]byte("text"))}
	if err := page.WriteGzip(gone{}); err == nil {
		t.Error("gzip: no error")
	}
	if _, err := page.WriteTo(gone{}); err == nil {
		t.Error("text: no error")
	}
	// The reusable buffers are not damaged.
	if got := string(page.Append(nil)); got != "text" {
		t.Errorf("after an error: %q", got)
	}
}
