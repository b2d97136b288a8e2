package image

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
)

// maxCertificates is the maximum size of a certificate file in bytes; a system's file has 250 kB.
const maxCertificates = 16 << 20

// readCertificates reads a PEM file that contains only certificates. A private key in it would be
// readable by every user of the image.
func readCertificates(path string) ([]byte, error) {
	if path == "" {
		return nil, nil
	}
	bad := func(err error) error {
		return &Error{Op: "read certificates", Name: path, Err: ErrInvalid, Detail: err.Error()}
	}
	st, err := os.Stat(path)
	if err != nil {
		return nil, bad(err)
	}
	if !st.Mode().IsRegular() || st.Size() > maxCertificates {
		return nil, bad(fmt.Errorf("it is not a regular file of at most %d MB", maxCertificates>>20))
	}
	b, err := os.ReadFile(path)
	if err == nil {
		err = checkCertificates(b)
	}
	if err != nil {
		return nil, bad(err)
	}
	return b, nil
}

func checkCertificates(b []byte) error {
	n := 0
	for {
		var block *pem.Block
		if block, b = pem.Decode(b); block == nil {
			break
		}
		n++
		if block.Type != "CERTIFICATE" {
			return fmt.Errorf("block %d is a %s, not a certificate", n, block.Type)
		}
		if _, err := x509.ParseCertificate(block.Bytes); err != nil {
			return fmt.Errorf("certificate %d: %w", n, err)
		}
	}
	if n == 0 {
		return errors.New("it contains no certificate")
	}
	return nil
}
