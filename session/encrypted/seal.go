package encrypted

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"strings"
)

// sessionSealer seals what belongs to one session: AES-256-GCM with keys that are the session's
// own, derived from the data key. The nonce is the beginning of an HMAC over what is
// sealed and where it stands, so the same is sealed to the same bytes, and what differs
// has another nonce.
type sessionSealer struct {
	key  string // id of the data key
	aead cipher.AEAD
	mac  []byte
}

// nonceSize is that of GCM, tagSize what it adds.
const (
	nonceSize = 12
	tagSize   = 16
)

func (k *dataKey) box(session string) (*sessionSealer, error) {
	keys, err := hkdf.Expand(sha256.New, k.secret, "holdfast session 1\n"+session, 64)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(keys[:32])
	if err != nil {
		return nil, err
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		return nil, err
	}
	return &sessionSealer{key: k.id, aead: aead, mac: keys[32:]}, nil
}

// seal returns nonce, ciphertext and tag. place is not encrypted; opening needs it.
func (b *sessionSealer) seal(place, plain []byte) []byte {
	h := hmac.New(sha256.New, b.mac)
	var n [8]byte
	for i := range n {
		n[i] = byte(len(place) >> (8 * i))
	}
	h.Write(n[:])
	h.Write(place)
	h.Write(plain)
	out := make([]byte, nonceSize, nonceSize+len(plain)+tagSize)
	copy(out, h.Sum(nil))
	return b.aead.Seal(out, out, plain, place)
}

// open returns what was sealed at this place.
func (b *sessionSealer) open(place, sealed []byte) ([]byte, error) {
	if len(sealed) < nonceSize+tagSize {
		return nil, errors.New("it is too short")
	}
	plain, err := b.aead.Open(nil, sealed[:nonceSize], sealed[nonceSize:], place)
	if err != nil {
		return nil, errors.New("it was changed, or belongs to another place")
	}
	if plain == nil {
		plain = []byte{}
	}
	return plain, nil
}

// textMark begins a text of a list that is sealed. "~", the data key, ".", the rest.
const textMark = "~"

// sealText seals a text of a list; "" stays, so that lists can tell what is unset.
func (b *sessionSealer) sealText(field, text string) string {
	if text == "" {
		return ""
	}
	return textMark + b.key + "." + base64.RawURLEncoding.EncodeToString(b.seal([]byte("meta\n"+field), []byte(text)))
}

// textKey says which data key a text of a list is sealed with; "" when it is not sealed.
func textKey(text string) string {
	rest, ok := strings.CutPrefix(text, textMark)
	key, _, found := strings.Cut(rest, ".")
	if !ok || !found {
		return ""
	}
	return key
}

// openText opens what sealText has sealed.
func (b *sessionSealer) openText(field, text string) (string, error) {
	raw, err := base64.RawURLEncoding.DecodeString(strings.TrimPrefix(text, textMark+b.key+"."))
	if err != nil {
		return "", err
	}
	plain, err := b.open([]byte("meta\n"+field), raw)
	return string(plain), err
}
