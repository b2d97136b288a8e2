package salvage

import (
	"encoding/binary"
	"errors"
	"io"
	"os"
)

// Limits for the values in a file's header.
const (
	usualPage  = 4096
	maxPayload = 1 << 30
	maxColumns = 64
)

// database contains the pages of a SQLite file and its write-ahead log, both possibly damaged.
type database struct {
	file, wal *os.File
	page      int64
	count     int64           // number of pages
	log       map[int64]int64 // offset in the log of each page with a newer version there
}

// openDatabase opens a file. It uses the page size and count of the header only if they are
// plausible.
func openDatabase(path string) (*database, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	d := &database{file: f, page: usualPage, log: map[int64]int64{}}
	var head [100]byte
	if n, _ := f.ReadAt(head[:], 0); n == len(head) && string(head[:15]) == "SQLite format 3" {
		size := int64(binary.BigEndian.Uint16(head[16:]))
		if size == 1 {
			size = 65536
		}
		if size >= 512 && size&(size-1) == 0 {
			d.page = size
		}
	}
	info, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	d.count = (info.Size() + d.page - 1) / d.page
	if d.wal, err = os.Open(path + "-wal"); err == nil {
		d.readLog()
	}
	return d, nil
}

func (d *database) close() error {
	err := d.file.Close()
	if d.wal != nil {
		err = errors.Join(err, d.wal.Close())
	}
	return err
}

// readLog finds the pages of the last complete commit in the log: frames with the right salt and
// checksum, where each checksum covers all frames before it.
func (d *database) readLog() {
	var head [32]byte
	if _, err := d.wal.ReadAt(head[:], 0); err != nil {
		return
	}
	magic := binary.BigEndian.Uint32(head[:])
	if magic&^1 != 0x377f0682 || int64(binary.BigEndian.Uint32(head[8:])) != d.page {
		return
	}
	order := binary.ByteOrder(binary.LittleEndian)
	if magic&1 == 1 {
		order = binary.BigEndian
	}
	s := walChecksum{order: order}
	s.add(head[:24])
	if s.a != binary.BigEndian.Uint32(head[24:]) || s.b != binary.BigEndian.Uint32(head[28:]) {
		return
	}
	frame := make([]byte, 24+d.page)
	pending := map[int64]int64{}
	for at := int64(32); ; at += int64(len(frame)) {
		if _, err := d.wal.ReadAt(frame, at); err != nil {
			return
		}
		s.add(frame[:8])
		s.add(frame[24:])
		if string(frame[8:16]) != string(head[16:24]) || s.a != binary.BigEndian.Uint32(frame[16:]) || s.b != binary.BigEndian.Uint32(frame[20:]) {
			return
		}
		pending[int64(binary.BigEndian.Uint32(frame))] = at + 24
		if size := int64(binary.BigEndian.Uint32(frame[4:])); size > 0 { // a commit
			for n, where := range pending {
				d.log[n] = where
			}
			clear(pending)
			d.count = max(d.count, size)
		}
	}
}

// walChecksum computes the checksum of a write-ahead log.
type walChecksum struct {
	order binary.ByteOrder
	a, b  uint32
}

func (s *walChecksum) add(data []byte) {
	for ; len(data) >= 8; data = data[8:] {
		s.a += s.order.Uint32(data) + s.b
		s.b += s.order.Uint32(data[4:]) + s.a
	}
}

var errPage = errors.New("the page cannot be read")

// read reads page n, counted from 1. Missing bytes at the end of a truncated file are zeros.
func (d *database) read(n int64, into []byte) error {
	if n < 1 || n > d.count {
		return errPage
	}
	from, at := io.ReaderAt(d.file), (n-1)*d.page
	if where, ok := d.log[n]; ok {
		from, at = d.wal, where
	}
	got, err := from.ReadAt(into, at)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	clear(into[got:])
	return nil
}

// rows calls each for every row of every page with table rows, even if no root page leads to the
// page. It returns the number of those pages and of all pages.
func (d *database) rows(each func(rowid int64, columns []any)) (tables, all int64, err error) {
	page := make([]byte, d.page)
	for n := int64(1); n <= d.count; n++ {
		if err := d.read(n, page); err != nil {
			continue
		}
		at := 0
		if n == 1 {
			at = 100
		}
		if page[at] != 0x0d {
			continue
		}
		tables++
		cells := int(binary.BigEndian.Uint16(page[at+3:]))
		for i := range cells {
			pointer := at + 8 + 2*i
			if pointer+2 > len(page) {
				break
			}
			start := int(binary.BigEndian.Uint16(page[pointer:]))
			if start < at+8 || start >= len(page) {
				continue
			}
			if rowid, payload, ok := d.cell(page[start:]); ok {
				if columns, ok := decode(payload); ok {
					each(rowid, columns)
				}
			}
		}
	}
	return tables, d.count, nil
}

// cell reads a row, including its parts on overflow pages.
func (d *database) cell(b []byte) (rowid int64, payload []byte, ok bool) {
	size, n := varint(b)
	if n == 0 || size > maxPayload {
		return 0, nil, false
	}
	id, m := varint(b[n:])
	if m == 0 {
		return 0, nil, false
	}
	b = b[n+m:]
	usable, total := d.page, int64(size)
	local := total
	if most := usable - 35; total > most {
		least := (usable-12)*32/255 - 23
		if local = least + (total-least)%(usable-4); local > most {
			local = least
		}
	}
	if local > int64(len(b)) {
		return 0, nil, false
	}
	payload = append(payload, b[:local]...)
	if local == total {
		return int64(id), payload, true
	}
	if local+4 > int64(len(b)) {
		return 0, nil, false
	}
	next := int64(binary.BigEndian.Uint32(b[local:]))
	page := make([]byte, d.page)
	for left := total - local; left > 0; {
		if d.read(next, page) != nil {
			return 0, nil, false
		}
		part := min(left, usable-4)
		payload = append(payload, page[4:4+part]...)
		left -= part
		next = int64(binary.BigEndian.Uint32(page))
	}
	return int64(id), payload, true
}

// decode decodes a row into nil, int64, string for text, or []byte for a blob. The store's tables
// have no floating-point numbers.
func decode(b []byte) (columns []any, ok bool) {
	size, n := varint(b)
	if n == 0 || size > uint64(len(b)) || size < uint64(n) {
		return nil, false
	}
	head, body := b[n:size], b[size:]
	for len(head) > 0 {
		kind, n := varint(head)
		if n == 0 || len(columns) == maxColumns {
			return nil, false
		}
		head = head[n:]
		var width int
		switch {
		case kind == 0, kind == 8, kind == 9:
		case kind <= 4:
			width = int(kind)
		case kind == 5:
			width = 6
		case kind == 6:
			width = 8
		case kind >= 12:
			if (kind-12)/2 > uint64(len(body)) {
				return nil, false
			}
			width = int((kind - 12) / 2)
		default:
			return nil, false
		}
		if width > len(body) {
			return nil, false
		}
		part := body[:width]
		body = body[width:]
		switch {
		case kind == 0:
			columns = append(columns, nil)
		case kind <= 9:
			columns = append(columns, integer(kind, part))
		case kind%2 == 1:
			columns = append(columns, string(part))
		default:
			columns = append(columns, append([]byte{}, part...))
		}
	}
	return columns, len(body) == 0
}

func integer(kind uint64, b []byte) int64 {
	if kind >= 8 {
		return int64(kind - 8)
	}
	v := int64(int8(b[0]))
	for _, c := range b[1:] {
		v = v<<8 | int64(c)
	}
	return v
}

// varint reads a SQLite varint; n is 0 if there is none.
func varint(b []byte) (v uint64, n int) {
	for n < 8 && n < len(b) {
		c := b[n]
		n++
		v = v<<7 | uint64(c&0x7f)
		if c < 0x80 {
			return v, n
		}
	}
	if n < 8 || n >= len(b) {
		return 0, 0
	}
	return v<<8 | uint64(b[n]), n + 1
}
