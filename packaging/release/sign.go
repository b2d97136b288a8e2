package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Signatures are made with `ssh-keygen -Y sign`: nearly every machine that has git has OpenSSH, so
// users can verify them without installing anything.
const (
	signatureNamespace = "holdfast-release"
	signerName         = "holdfast"
)

// publicKey returns the public half of a key: "ssh-ed25519 AAAA…", without a comment. If the key is
// in an SSH agent, the file contains the public half of the key.
func publicKey(ctx context.Context, key string) (string, error) {
	data, err := os.ReadFile(strings.TrimSuffix(key, ".pub") + ".pub")
	if os.IsNotExist(err) {
		cmd := exec.CommandContext(ctx, "ssh-keygen", "-y", "-f", key)
		cmd.Stderr = os.Stderr
		data, err = cmd.Output()
	}
	if err != nil {
		return "", fmt.Errorf("the signing key: %w", err)
	}
	words := strings.Fields(string(data))
	if len(words) < 2 {
		return "", fmt.Errorf("the signing key: %s.pub has no key", key)
	}
	return words[0] + " " + words[1], nil
}

// signers returns the line for `ssh-keygen -Y verify -f`, or "" for a release without a signature.
func (r *release) signers() string {
	if r.signer == "" {
		return ""
	}
	return signerName + ` namespaces="` + signatureNamespace + `" ` + r.signer + "\n"
}

//go:embed install.sh
var installer string

// writeInstaller writes install.sh, which contains this version and the signer's key, and the key
// as a separate file.
func (r *release) writeInstaller() error {
	text := installer
	for name, value := range map[string]string{"version": r.Version, "signers": strings.TrimSpace(r.signers())} {
		if strings.Count(text, "\n"+name+"=''") != 1 {
			return fmt.Errorf("install.sh has no line %s=''", name)
		}
		text = strings.Replace(text, "\n"+name+"=''", "\n"+name+"='"+value+"'", 1)
	}
	if r.signer != "" {
		if err := r.write("holdfast_signers", []byte(r.signers()), 0o644); err != nil {
			return err
		}
	}
	return r.write("install.sh", []byte(text), 0o755)
}

// writeChecksums writes checksums.txt, which sha256sum -c reads, and its signature.
func (r *release) writeChecksums(ctx context.Context) error {
	entries, err := os.ReadDir(r.out)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(r.out, e.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "%x  %s\n", sha256.Sum256(data), e.Name())
	}
	if err := r.write("checksums.txt", b.Bytes(), 0o644); err != nil {
		return err
	}
	if r.key == "" {
		fmt.Println("  not signed")
		return nil
	}
	cmd := exec.CommandContext(ctx, "ssh-keygen", "-q", "-Y", "sign", "-n", signatureNamespace, "-f", r.key)
	cmd.Stdin, cmd.Stderr = &b, os.Stderr
	signature, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("ssh-keygen -Y sign: %w", err)
	}
	return r.write("checksums.txt.sig", signature, 0o644)
}
