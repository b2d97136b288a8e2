package file

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"hash/crc32"
	"slices"
	"strconv"
	"time"

	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/session"
)

// headLen is the length of "<len 8 hex> <crc 8 hex> ".
const headLen = 18

// tailLen is the length of the line's end from `,"prev":"` to `"}`.
const tailLen = len(`,"prev":"","body":"","digest":""}`) + 3*64

// timeLayout is the format of a record's time. A time that this format cannot represent is written
// as milliseconds since 1970.
const timeLayout = "2006-01-02T15:04:05.000Z"

// checksum is CRC-32C. Its tables are made on first use.
func checksum(b []byte) uint32 { return crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)) }

// line is one line read from a log.
type line struct {
	off, end int64 // offsets in the file, newline included
	bad      bool  // rec is not valid
	rec      session.Record
	left     int // number of records that follow this one in its batch
}

// appendLine adds a record's line, with its newline, to b.
func appendLine(b []byte, r *session.Record, left int) []byte {
	start := len(b)
	b = append(b, "00000000 00000000 "...)
	b = append(b, `{"seq":`...)
	b = strconv.AppendInt(b, r.Seq, 10)
	if left > 0 {
		b = append(b, `,"left":`...)
		b = strconv.AppendInt(b, int64(left), 10)
	}
	b = append(b, `,"id":`...)
	b = appendString(b, r.ID)
	b = append(b, `,"time":`...)
	if y := r.Time.Year(); y >= 0 && y <= 9999 {
		b = append(b, '"')
		b = r.Time.UTC().AppendFormat(b, timeLayout)
		b = append(b, '"')
	} else {
		b = strconv.AppendInt(b, r.Time.UnixMilli(), 10)
	}
	b = append(b, `,"kind":`...)
	b = appendString(b, string(r.Kind))
	b = append(b, `,"payload":`...)
	if r.Payload == nil {
		b = append(b, "null"...)
	} else {
		b = append(b, r.Payload...)
	}
	b = append(b, `,"prev":"`...)
	b = hex.AppendEncode(b, r.Prev[:])
	b = append(b, `","body":"`...)
	b = hex.AppendEncode(b, r.Body[:])
	b = append(b, `","digest":"`...)
	b = hex.AppendEncode(b, r.Digest[:])
	b = append(b, `"}`...)
	body := b[start+headLen:]
	putHex(b[start:], uint32(len(body)))
	putHex(b[start+9:], checksum(body))
	return append(b, '\n')
}

func appendString(b []byte, s string) []byte {
	q, _ := json.Marshal(s) // a string cannot fail
	return append(b, q...)
}

func putHex(b []byte, n uint32) {
	const digits = "0123456789abcdef"
	for i := 7; i >= 0; i-- {
		b[i] = digits[n&15]
		n >>= 4
	}
}

// getHex reads 8 lower-case hexadecimal digits.
func getHex(b []byte) (uint32, bool) {
	var n uint32
	for _, c := range b[:8] {
		switch {
		case c >= '0' && c <= '9':
			n = n<<4 | uint32(c-'0')
		case c >= 'a' && c <= 'f':
			n = n<<4 | uint32(c-'a'+10)
		default:
			return 0, false
		}
	}
	return n, true
}

// bodyLen reads the length of the JSON from the first headLen bytes of a line.
func bodyLen(b []byte) (int64, bool) {
	if len(b) < headLen || b[8] != ' ' || b[17] != ' ' {
		return 0, false
	}
	n, ok := getHex(b)
	return int64(n), ok
}

// parseLine reads a whole line, newline included. The record's payload shares memory with b.
func parseLine(b []byte) (r session.Record, left int, ok bool) {
	n, ok := bodyLen(b)
	if !ok || int64(len(b)) != headLen+n+1 || b[len(b)-1] != '\n' {
		return r, 0, false
	}
	crc, ok := getHex(b[9:])
	body := b[headLen : len(b)-1]
	if !ok || checksum(body) != crc {
		return r, 0, false
	}
	if r, left, ok = parseOwn(body); ok {
		return r, left, true
	}
	return parseForeign(body)
}

// parseOwn reads the members of JSON in the form that appendLine writes, without a JSON decoder.
func parseOwn(b []byte) (r session.Record, left int, ok bool) {
	split := len(b) - tailLen
	if split < 0 {
		return r, 0, false
	}
	p := cursor{b: b[:split], ok: true}
	p.skip(`{"seq":`)
	r.Seq = p.int()
	if p.has(`,"left":`) {
		left = int(p.int())
		p.ok = p.ok && left > 0
	}
	p.skip(`,"id":"`)
	r.ID = string(p.until('"'))
	if p.skip(`,"time":`); p.has(`"`) {
		t, ok := parseTime(p.until('"'))
		r.Time, p.ok = t, p.ok && ok
	} else {
		r.Time = time.UnixMilli(p.int()).UTC()
	}
	p.skip(`,"kind":"`)
	r.Kind = kindOf(p.until('"'))
	p.skip(`,"payload":`)
	if !p.ok || len(p.b) == 0 {
		return r, 0, false
	}
	if string(p.b) != "null" {
		r.Payload = slices.Clip(p.b)
	}
	p = cursor{b: b[split:], ok: true}
	p.skip(`,"prev":"`)
	p.digest(&r.Prev)
	p.skip(`","body":"`)
	p.digest(&r.Body)
	p.skip(`","digest":"`)
	p.digest(&r.Digest)
	p.skip(`"}`)
	return r, left, p.ok
}

// parseTime reads timeLayout, several times faster than time.Parse.
func parseTime(b []byte) (time.Time, bool) {
	if len(b) != len(timeLayout) {
		return time.Time{}, false
	}
	var n [7]int // year, month, day, hour, minute, second, milliseconds
	field := 0
	for i := range b {
		switch c := timeLayout[i]; {
		case c >= '0' && c <= '9':
			if b[i] < '0' || b[i] > '9' {
				return time.Time{}, false
			}
			n[field] = 10*n[field] + int(b[i]-'0')
		case b[i] != c:
			return time.Time{}, false
		default:
			field = min(field+1, 6)
		}
	}
	t := time.Date(n[0], time.Month(n[1]), n[2], n[3], n[4], n[5], n[6]*1e6, time.UTC)
	// Date converts the 31st of June to the 1st of July.
	return t, int(t.Month()) == n[1] && t.Day() == n[2] && t.Hour() == n[3] && t.Minute() == n[4] && t.Second() == n[5]
}

// parseForeign reads JSON with members in another order or written differently, for example after
// a log was repaired with another tool.
func parseForeign(b []byte) (session.Record, int, bool) {
	var v struct {
		Seq     int64           `json:"seq"`
		Left    int             `json:"left"`
		ID      string          `json:"id"`
		Time    json.RawMessage `json:"time"`
		Kind    session.Kind    `json:"kind"`
		Payload json.RawMessage `json:"payload"`
		Prev    session.Digest  `json:"prev"`
		Body    session.Digest  `json:"body"`
		Digest  session.Digest  `json:"digest"`
	}
	if json.Unmarshal(b, &v) != nil || v.Left < 0 || v.Kind == "" {
		return session.Record{}, 0, false
	}
	r := session.Record{Seq: v.Seq, ID: v.ID, Kind: v.Kind, Prev: v.Prev, Body: v.Body, Digest: v.Digest}
	if !bytes.Equal(v.Payload, []byte("null")) {
		r.Payload = v.Payload
	}
	var ms int64
	if json.Unmarshal(v.Time, &ms) == nil {
		r.Time = time.UnixMilli(ms).UTC()
	} else if json.Unmarshal(v.Time, &r.Time) == nil {
		r.Time = r.Time.UTC()
	} else {
		return session.Record{}, 0, false
	}
	return r, v.Left, true
}

// cursor walks over bytes; ok becomes false at the first mismatch.
type cursor struct {
	b  []byte
	ok bool
}

func (c *cursor) has(s string) bool {
	if !c.ok || len(c.b) < len(s) || string(c.b[:len(s)]) != s {
		return false
	}
	c.b = c.b[len(s):]
	return true
}

func (c *cursor) skip(s string) { c.ok = c.has(s) }

func (c *cursor) int() int64 {
	i := 0
	for i < len(c.b) && (c.b[i] == '-' || c.b[i] >= '0' && c.b[i] <= '9') {
		i++
	}
	n, err := strconv.ParseInt(string(c.b[:i]), 10, 64)
	c.b, c.ok = c.b[i:], c.ok && err == nil
	return n
}

// until returns the bytes before the next q and skips it. It does not handle escapes.
func (c *cursor) until(q byte) []byte {
	i := bytes.IndexByte(c.b, q)
	if i < 0 || bytes.IndexByte(c.b[:i], '\\') >= 0 {
		c.ok = false
		return nil
	}
	v := c.b[:i]
	c.b = c.b[i+1:]
	return v
}

func (c *cursor) digest(d *session.Digest) {
	if !c.ok || len(c.b) < 2*len(d) {
		c.ok = false
		return
	}
	_, err := hex.Decode(d[:], c.b[:2*len(d)])
	c.b, c.ok = c.b[2*len(d):], err == nil
}

// kindOf is session.Kind(b) without a copy for known kinds.
func kindOf(b []byte) session.Kind {
	switch string(b) {
	case string(session.KindItem):
		return session.KindItem
	case string(record.KindToolStarted):
		return record.KindToolStarted
	case string(record.KindToolFinished):
		return record.KindToolFinished
	case string(record.KindDecision):
		return record.KindDecision
	case string(record.KindTurnOpened):
		return record.KindTurnOpened
	case string(record.KindTurnClosed):
		return record.KindTurnClosed
	}
	return session.Kind(b)
}
