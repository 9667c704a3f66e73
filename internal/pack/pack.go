// Package pack keeps text compressed in blocks that can be strung together, in
// any order, into one gzip stream, without compressing anything again.
package pack

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"io"
	"slices"
	"sync"

	"github.com/klauspost/compress/flate"
)

// Block is a piece of text, packed once and never changed. Its packed form is
// raw deflate (RFC 1951) that ends at a byte's border, without the mark of the
// last block, and refers to nothing outside of itself: blocks after blocks are
// one deflate stream.
type Block struct {
	deflated []byte
	size     int    // of the text, in bytes
	sum      uint32 // CRC-32 of the text
	shift    uint32 // what the sum of a text before this one is multiplied by
}

// Pack packs a text. It keeps nothing of it.
func Pack(text []byte) Block {
	if len(text) == 0 {
		return Block{}
	}
	out := buffers.Get().(*bytes.Buffer)
	defer buffers.Put(out)
	out.Reset()
	_ = flate.StatelessDeflate(out, text, false, nil) // a buffer takes everything
	return Block{bytes.Clone(out.Bytes()), len(text), crc32.ChecksumIEEE(text), shiftBy(len(text))}
}

var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// after is the CRC-32 of a text with this one after it.
func (b Block) after(sum uint32) uint32 {
	if b.size == 0 {
		return sum
	}
	return times(b.shift, sum) ^ b.sum
}

// Page is a text in blocks.
type Page []Block

// packed is the length of the blocks in bytes.
func (p Page) packed() int {
	n := 0
	for _, b := range p {
		n += len(b.deflated)
	}
	return n
}

// Len is the length of the text in bytes.
func (p Page) Len() int {
	n := 0
	for _, b := range p {
		n += b.size
	}
	return n
}

// last is an empty deflate block that is marked as the last one.
var last = []byte{1, 0, 0, 0xff, 0xff}

// WriteTo writes the text.
func (p Page) WriteTo(w io.Writer) (int64, error) {
	u := unpackers.Get().(*unpacker)
	defer unpackers.Put(u)
	var n int64
	for _, b := range p {
		if b.size == 0 {
			continue
		}
		u.packed.Reset(b.deflated)
		u.ended.Reset(last)
		u.in.Reset(io.MultiReader(&u.packed, &u.ended))
		_ = u.text.(flate.Resetter).Reset(&u.in, nil) // never fails
		written, err := io.CopyBuffer(struct{ io.Writer }{w}, struct{ io.Reader }{u.text}, u.buffer)
		if n += written; err != nil {
			return n, err
		}
	}
	return n, nil
}

// Append appends the text.
func (p Page) Append(to []byte) []byte {
	text := bytes.NewBuffer(slices.Grow(to, p.Len()))
	_, _ = p.WriteTo(text) // a buffer takes everything
	return text.Bytes()
}

// unpacker is what unpacking needs, kept for the next time.
type unpacker struct {
	packed, ended bytes.Reader
	in            bufio.Reader
	text          io.ReadCloser
	buffer        []byte
}

var unpackers = sync.Pool{New: func() any {
	return &unpacker{text: flate.NewReader(nil), buffer: make([]byte, 32<<10)}
}}

// The frame of a gzip member (RFC 1952) that tells neither name nor time.
var gzipHeader = []byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff}

// GzipLen is how many bytes WriteGzip writes.
func (p Page) GzipLen() int { return len(gzipHeader) + p.packed() + len(last) + 8 }

// WriteGzip writes the text as one gzip member: there are readers that stop
// after the first.
func (p Page) WriteGzip(w io.Writer) error {
	// Whoever writes large blocks one by one spares a copy and pays a system call for each.
	out := writers.Get().(*bufio.Writer)
	defer writers.Put(out)
	out.Reset(w)
	defer out.Reset(nil)
	_, _ = out.Write(gzipHeader) // a bufio.Writer remembers its error
	var sum uint32
	for _, b := range p {
		sum = b.after(sum)
		if _, err := out.Write(b.deflated); err != nil {
			return err
		}
	}
	_, _ = out.Write(last)
	trailer := binary.LittleEndian.AppendUint32(nil, sum)
	trailer = binary.LittleEndian.AppendUint32(trailer, uint32(p.Len())) // modulo 2^32, as the format has it
	_, _ = out.Write(trailer)
	return out.Flush()
}

var writers = sync.Pool{New: func() any { return bufio.NewWriterSize(nil, 64<<10) }}

// Packer packs what is written to it, a piece at a time.
type Packer struct {
	text []byte
	page Page
}

// pieceSize is how much text is packed at a time: with more, blocks hardly
// become smaller.
const pieceSize = 64 << 10

// Write takes text. It never fails.
func (p *Packer) Write(text []byte) (int, error) {
	p.text = append(p.text, text...)
	if len(p.text) >= pieceSize {
		p.pack()
	}
	return len(text), nil
}

// Add takes blocks, which follow what was written before.
func (p *Packer) Add(blocks Page) {
	p.pack()
	p.page = append(p.page, blocks...)
}

func (p *Packer) pack() {
	if len(p.text) > 0 {
		p.page = append(p.page, Pack(p.text))
		p.text = p.text[:0]
	}
}

// Page returns all that was taken.
func (p *Packer) Page() Page {
	p.pack()
	return p.page
}
