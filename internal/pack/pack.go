// Package pack stores text in compressed blocks. Blocks can be concatenated in any order into one gzip stream, without compressing
// again.
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

// Block is an immutable compressed piece of text. Its compressed form is raw deflate (RFC 1951). It ends at a byte boundary, has no
// final-block flag, and refers to no data outside the block. Therefore concatenated blocks are one deflate stream.
type Block struct {
	deflated []byte
	size     int    // of the text, in bytes
	sum      uint32 // CRC-32 of the text
	shift    uint32 // multiplier for the sum of the text before this block
}

// Pack compresses a text. The Block does not refer to the text.
func Pack(text []byte) Block {
	if len(text) == 0 {
		return Block{}
	}
	out := buffers.Get().(*bytes.Buffer)
	defer buffers.Put(out)
	out.Reset()
	_ = flate.StatelessDeflate(out, text, false, nil) // a buffer never fails
	return Block{bytes.Clone(out.Bytes()), len(text), crc32.ChecksumIEEE(text), shiftBy(len(text))}
}

var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// after returns the CRC-32 of a text with this sum, followed by the text of b.
func (b Block) after(sum uint32) uint32 {
	if b.size == 0 {
		return sum
	}
	return times(b.shift, sum) ^ b.sum
}

// Blocks is a text that consists of blocks.
type Blocks []Block

// packed returns the length of the blocks in bytes.
func (p Blocks) packed() int {
	n := 0
	for _, b := range p {
		n += len(b.deflated)
	}
	return n
}

// Len is the length of the text in bytes.
func (p Blocks) Len() int {
	n := 0
	for _, b := range p {
		n += b.size
	}
	return n
}

// last is an empty deflate block with the final-block flag.
var last = []byte{1, 0, 0, 0xff, 0xff}

// WriteTo writes the text.
func (p Blocks) WriteTo(w io.Writer) (int64, error) {
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

// Append appends the text to to.
func (p Blocks) Append(to []byte) []byte {
	text := bytes.NewBuffer(slices.Grow(to, p.Len()))
	_, _ = p.WriteTo(text) // a buffer never fails
	return text.Bytes()
}

// unpacker holds reusable buffers for decompression.
type unpacker struct {
	packed, ended bytes.Reader
	in            bufio.Reader
	text          io.ReadCloser
	buffer        []byte
}

var unpackers = sync.Pool{New: func() any {
	return &unpacker{text: flate.NewReader(nil), buffer: make([]byte, 32<<10)}
}}

// The header of a gzip member (RFC 1952) without name and time.
var gzipHeader = []byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff}

// GzipLen returns the number of bytes that WriteGzip writes.
func (p Blocks) GzipLen() int { return len(gzipHeader) + p.packed() + len(last) + 8 }

// WriteGzip writes the text as one gzip member, because some readers stop after the first member.
func (p Blocks) WriteGzip(w io.Writer) error {
	// Large blocks bypass the buffer: this saves a copy, at the cost of one system call per block.
	out := writers.Get().(*bufio.Writer)
	defer writers.Put(out)
	out.Reset(w)
	defer out.Reset(nil)
	_, _ = out.Write(gzipHeader) // a bufio.Writer keeps its error
	var sum uint32
	for _, b := range p {
		sum = b.after(sum)
		if _, err := out.Write(b.deflated); err != nil {
			return err
		}
	}
	_, _ = out.Write(last)
	trailer := binary.LittleEndian.AppendUint32(nil, sum)
	trailer = binary.LittleEndian.AppendUint32(trailer, uint32(p.Len())) // modulo 2^32, by definition of the format
	_, _ = out.Write(trailer)
	return out.Flush()
}

var writers = sync.Pool{New: func() any { return bufio.NewWriterSize(nil, 64<<10) }}

// Packer compresses the text that is written to it, piece by piece.
type Packer struct {
	text   []byte
	blocks Blocks
}

// pieceSize is the number of bytes of text that are compressed at once. Larger pieces compress only slightly better.
const pieceSize = 64 << 10

// Write compresses text. It never fails.
func (p *Packer) Write(text []byte) (int, error) {
	p.text = append(p.text, text...)
	if len(p.text) >= pieceSize {
		p.pack()
	}
	return len(text), nil
}

// Add appends blocks after the text that was written before.
func (p *Packer) Add(blocks Blocks) {
	p.pack()
	p.blocks = append(p.blocks, blocks...)
}

func (p *Packer) pack() {
	if len(p.text) > 0 {
		p.blocks = append(p.blocks, Pack(p.text))
		p.text = p.text[:0]
	}
}

// Blocks returns the whole text that was written or added.
func (p *Packer) Blocks() Blocks {
	p.pack()
	return p.blocks
}
