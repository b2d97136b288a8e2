package object

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
)

// The keys, below the store's prefix. docs/formats/object.md has a table of the keys.
const (
	formatKey      = "format.json"
	epochKey       = "epoch.json"
	rootsPrefix    = "sessions/"
	logsPrefix     = "log/"
	segmentsPrefix = "seg/"
	pinsPrefix     = "pin/"
)

// nameLimit is the maximum length of an id's name: servers that store objects as files allow 255
// bytes between two slashes.
const nameLimit = 180

// nameOf returns the name of a session id in keys: letters, digits, "-" and "_" are unchanged,
// other bytes become "!" and two hexadecimal digits. A name that would be too long becomes "~" and
// its SHA-256.
func nameOf(id string) string {
	var b strings.Builder
	for i := range len(id) {
		c := id[i]
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_' {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "!%02x", c)
		}
	}
	if b.Len() > nameLimit {
		sum := sha256.Sum256([]byte(id))
		return "~" + hex.EncodeToString(sum[:])
	}
	return b.String()
}

func rootKey(id string) string { return rootsPrefix + nameOf(id) }

func slotKey(log string, slot int64) string { return fmt.Sprintf("%s%s/%012d", logsPrefix, log, slot) }

// parseSlot reads the key of a slot.
func parseSlot(key string) (log string, slot int64, ok bool) {
	log, number, ok := strings.Cut(strings.TrimPrefix(key, logsPrefix), "/")
	slot, err := strconv.ParseInt(number, 10, 64)
	return log, slot, ok && err == nil
}

// segmentKey returns a new segment key for a root's generation.
func segmentKey(log string, gen int64) string {
	return fmt.Sprintf("%s%s/%08d-%s", segmentsPrefix, log, gen, unique())
}

// parseSegment reads the key of a segment.
func parseSegment(key string) (log string, gen int64, ok bool) {
	log, rest, ok := strings.Cut(strings.TrimPrefix(key, segmentsPrefix), "/")
	number, _, _ := strings.Cut(rest, "-")
	gen, err := strconv.ParseInt(number, 10, 64)
	return log, gen, ok && err == nil
}

// forkPin records that a fork needs its parent's records up to seq.
type forkPin struct {
	parent string // the parent's log
	seq    int64
	log    string // the fork's log
	name   string // name of the fork's id
}

func (p forkPin) key() string {
	return fmt.Sprintf("%s%s/%019d.%s.%s", pinsPrefix, p.parent, p.seq, p.log, p.name)
}

// parsePin reads the key of a pin, the object that registers a fork in its parent.
func parsePin(key string) (p forkPin, ok bool) {
	parent, rest, _ := strings.Cut(strings.TrimPrefix(key, pinsPrefix), "/")
	parts := strings.SplitN(rest, ".", 3)
	if len(parts) != 3 {
		return p, false
	}
	seq, err := strconv.ParseInt(parts[0], 10, 64)
	return forkPin{parent, seq, parts[1], parts[2]}, err == nil
}

// unique returns a name that no other client uses.
func unique() string {
	var b [10]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}
