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

// sessionSealer encrypts the data of one session with AES-256-GCM and keys derived from the data
// key for this session. The nonce is the start of an HMAC over the plain text and the additional
// data. Therefore the same input gives the same output, and different inputs have different nonces.
type sessionSealer struct {
	key  string // the data key's id
	aead cipher.AEAD
	mac  []byte
}

// nonceSize is the size of a GCM nonce, and tagSize the size of the tag that GCM adds.
const (
	nonceSize = 12
	tagSize   = 16
)

func (k *dataKey) sealer(session string) (*sessionSealer, error) {
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

// seal returns nonce, ciphertext and tag. The parameter additional is not encrypted, but is needed
// to decrypt.
func (b *sessionSealer) seal(additional, plain []byte) []byte {
	h := hmac.New(sha256.New, b.mac)
	var n [8]byte
	for i := range n {
		n[i] = byte(len(additional) >> (8 * i))
	}
	h.Write(n[:])
	h.Write(additional)
	h.Write(plain)
	out := make([]byte, nonceSize, nonceSize+len(plain)+tagSize)
	copy(out, h.Sum(nil))
	return b.aead.Seal(out, out, plain, additional)
}

// open decrypts data that was encrypted with the same additional data.
func (b *sessionSealer) open(additional, sealed []byte) ([]byte, error) {
	if len(sealed) < nonceSize+tagSize {
		return nil, errors.New("the data is too short")
	}
	plain, err := b.aead.Open(nil, sealed[:nonceSize], sealed[nonceSize:], additional)
	if err != nil {
		return nil, errors.New("it was changed, or copied from another record")
	}
	if plain == nil {
		plain = []byte{}
	}
	return plain, nil
}

// textMark starts an encrypted text of a list: "~", the data key's id, ".", the data.
const textMark = "~"

// sealText encrypts a text of a list. It returns "" unchanged, so that lists can see which texts
// are unset.
func (b *sessionSealer) sealText(field, text string) string {
	if text == "" {
		return ""
	}
	return textMark + b.key + "." + base64.RawURLEncoding.EncodeToString(b.seal([]byte("meta\n"+field), []byte(text)))
}

// textKey returns the id of the data key of a list text, or "" if it is not encrypted.
func textKey(text string) string {
	rest, ok := strings.CutPrefix(text, textMark)
	key, _, found := strings.Cut(rest, ".")
	if !ok || !found {
		return ""
	}
	return key
}

// openText decrypts the result of sealText.
func (b *sessionSealer) openText(field, text string) (string, error) {
	raw, err := base64.RawURLEncoding.DecodeString(strings.TrimPrefix(text, textMark+b.key+"."))
	if err != nil {
		return "", err
	}
	plain, err := b.open([]byte("meta\n"+field), raw)
	return string(plain), err
}
