package encrypted

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
)

// Anybody who knows a recipient can wrap a data key for it, and who can write in a store
// can leave a session there that has one. So a data key is taken for new sessions only
// when it has the mark of one of our identities. The mark also says for whom it is: with
// other recipients a new one is made.

// identityMark is what an identity marks data keys with.
func identityMark(identity string) []byte {
	sum := sha256.Sum256([]byte("holdfast maker of data keys 1\n" + identity))
	return sum[:]
}

// mark is that of a maker for a data key; nil when there are no marks.
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

// made reports whether this key has made d, for its recipients of now.
func (k *Key) made(d *dataKey) bool {
	return k.shared || slices.ContainsFunc(k.makers, func(m []byte) bool { return hmac.Equal(d.mark, k.markOf(m, d)) })
}
