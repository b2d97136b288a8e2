package auth

import (
	"crypto/sha256"
	"crypto/subtle"
)

// equalSecret compares secrets in constant time.
func equalSecret(a, b string) bool {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1
}
