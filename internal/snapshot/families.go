package snapshot

import (
	"maps"
	"slices"

	"github.com/prometheus/common/expfmt"

	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/pack"
)

// familyIndex holds chunks by family, in page order.
type familyIndex struct {
	families map[string]*family
	names    []string // sorted names of the families; nil after a change
}

func newFamilyIndex() familyIndex { return familyIndex{families: map[string]*family{}} }

// family is one family with the chunks of all its jobs.
type family struct {
	chunks  []chunk // ordered by job
	pages   pages   // compressed chunks; empty after a change
	changes int
}

// pages holds the compressed text of one family in both formats. The formats differ only in the header of a counter.
type pages struct{ text, openMetrics pack.Blocks }

func (p pages) in(format expfmt.FormatType) pack.Blocks {
	if format == expfmt.TypeOpenMetrics {
		return p.openMetrics
	}
	return p.text
}

// chunk is a job's part of a family. It points to data of the job's run to save memory: a fleet has a hundred thousand chunks.
type chunk struct {
	job *Key
	*metric.Chunk
}

// replace replaces the old chunks of a job with new ones. The data of k and the chunks must not change afterwards.
func (s *familyIndex) replace(k *Key, old, chunks []metric.Chunk) {
	for i := range chunks {
		c := &chunks[i]
		f := s.families[c.Family.Name]
		if f == nil {
			f = &family{}
			s.families[c.Family.Name], s.names = f, nil
		}
		f.set(chunk{k, c})
	}
	for _, c := range old {
		name := c.Family.Name
		if slices.ContainsFunc(chunks, func(c metric.Chunk) bool { return c.Family.Name == name }) {
			continue
		}
		// Expired chunks are already deleted.
		if f := s.families[name]; f != nil {
			if f.remove(*k); len(f.chunks) == 0 {
				delete(s.families, name)
				s.names = nil
			}
		}
	}
}

func (f *family) find(k Key) (int, bool) {
	return slices.BinarySearchFunc(f.chunks, k, func(c chunk, k Key) int { return c.job.compare(k) })
}

func (f *family) set(c chunk) {
	if i, has := f.find(*c.job); has {
		same := f.chunks[i].Same(*c.Chunk)
		if f.chunks[i] = c; same {
			return // the compressed pages stay valid
		}
	} else {
		f.chunks = slices.Insert(f.chunks, i, c)
	}
	f.changed()
}

func (f *family) remove(k Key) {
	if i, has := f.find(k); has {
		f.chunks = slices.Delete(f.chunks, i, i+1)
		f.changed()
	}
}

func (f *family) changed() {
	f.pages = pages{}
	f.changes++
}

// ordered returns the families sorted by name.
func (s *familyIndex) ordered() []*family {
	if s.names == nil {
		s.names = slices.Sorted(maps.Keys(s.families))
	}
	all := make([]*family, len(s.names))
	for i, name := range s.names {
		all[i] = s.families[name]
	}
	return all
}

// part is one family of a page, at one point in time.
type part struct {
	of      *family
	changes int
	chunks  []chunk // set if the part must be compressed
	pages   pages   // set if the part is compressed
}

// parts returns all families at this time.
func (s *familyIndex) parts() []*part {
	families := s.ordered()
	parts := make([]*part, len(families))
	for i, f := range families {
		parts[i] = &part{of: f, changes: f.changes, pages: f.pages}
		if f.pages.text == nil {
			parts[i].chunks = slices.Clone(f.chunks)
		}
	}
	return parts
}

// pack compresses the part's pages. The samples are compressed once.
func (p *part) pack() {
	f := p.chunks[0].Family
	text, openMetrics := f.Header(expfmt.TypeTextPlain), f.Header(expfmt.TypeOpenMetrics)
	var to pack.Packer
	if text == openMetrics {
		_, _ = to.Write([]byte(text)) // never fails
	}
	for _, c := range p.chunks {
		c.AddTo(&to)
	}
	samples := to.Blocks()
	if text == openMetrics {
		p.pages = pages{samples, samples}
		return
	}
	withHeader := func(header string) pack.Blocks {
		return slices.Concat(pack.Blocks{pack.Pack([]byte(header))}, samples)
	}
	p.pages = pages{withHeader(text), withHeader(openMetrics)}
}
