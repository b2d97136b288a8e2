package encrypted

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
)

// Anyone who knows a recipient can wrap a data key for it, and anyone who can write to the
// store can add a session with that data key. Therefore new sessions use a data key only if it has
// the mark of one of this key's identities. The mark also covers the recipients: with other
// recipients a new data key is made.

// identityMark is the value with which an identity marks data keys.
func identityMark(identity string) []byte {
	sum := sha256.Sum256([]byte("holdfast maker of data keys 1\n" + identity))
	return sum[:]
}

// mark returns an identity's mark for a data key, or nil if there are no marks.
func (k *Key) mark(d *dataKey) []byte {
	if len(k.makers) == 0 {
		return nil
	}
	return k.markOf(k.makers[0], d)
}

func (k *Key) markOf(maker []byte, d *dataKey) []byte {
	names := make([]string, len(k.recipients))
	for i, r := range k.recipients {
		names[i] = fmt.Sprint(r)
	}
	slices.Sort(names)
	h := hmac.New(sha256.New, maker)
	for _, part := range append([]string{string(d.secret), string(d.wrapped)}, slices.Compact(names)...) {
		var n [8]byte
		binary.BigEndian.PutUint64(n[:], uint64(len(part)))
		h.Write(n[:])
		h.Write([]byte(part))
	}
	return h.Sum(nil)[:16]
}

// made reports whether this key made data key d for its current recipients.
func (k *Key) made(d *dataKey) bool {
	return k.shared || slices.ContainsFunc(k.makers, func(m []byte) bool { return hmac.Equal(d.mark, k.markOf(m, d)) })
}
