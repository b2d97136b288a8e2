// Command release makes all files of a release, without a network service and without a container
// engine.
//
//	git ──Source──► go build ──per system──► archives ─► cask, install script
//	                   │                     deb, rpm, apk            ├─► checksums ─► signature
//	                   ├─ build info ──────► notices, SBOM            │
//	                   └───────────────────► image for two processors ┘
//
//	go run -C packaging/release . -out ../../dist
//
// For a clean checkout of a tag such as v0.9.0 it makes that release. For anything else it makes a
// snapshot of the next release. The same commit produces the same bytes in any folder and on any
// machine that has the same version of Go.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
)

// release is the release that is being made.
type release struct {
	*source
	root   string   // the checkout
	out    string   // where the files go
	work   string   // a temporary folder, which is removed at the end
	flags  []string // of go build
	key    string   // the file of the signing key, or "" if the files are not signed
	signer string   // the public half of the key
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "release: %v\n", err)
		stop()
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("release", flag.ContinueOnError)
	out := flags.String("out", "../../dist", "the folder for the files; an earlier release in it is removed")
	root := flags.String("root", "../..", "the checkout")
	systems := flags.String("systems", "linux/amd64,linux/arm64,darwin/amd64,darwin/arm64", "systems to build for")
	key := flags.String("key", os.Getenv("HOLDFAST_SIGNING_KEY"), "the file of the SSH signing key, or of its public key if the key is in an SSH agent; default $HOLDFAST_SIGNING_KEY")
	unsigned := flags.Bool("unsigned", false, "make a release without a signature")
	if err := flags.Parse(args); err != nil {
		return err
	}
	targets, err := parseTargets(*systems)
	if err != nil {
		return err
	}
	r := &release{key: *key, flags: []string{"-trimpath", "-buildvcs=true"}}
	if r.root, err = filepath.Abs(*root); err != nil {
		return err
	}
	if r.out, err = filepath.Abs(*out); err != nil {
		return err
	}
	if r.source, err = readSource(ctx, r.root); err != nil {
		return err
	}
	if r.Tag != "" && r.key == "" && !*unsigned {
		return errors.New("a release must be signed\nhint: HOLDFAST_SIGNING_KEY=~/.ssh/id_ed25519 make release, or -unsigned")
	}
	if r.key != "" {
		if r.signer, err = publicKey(ctx, r.key); err != nil {
			return err
		}
	}
	if r.work, err = os.MkdirTemp("", "holdfast-release-"); err != nil {
		return err
	}
	defer os.RemoveAll(r.work)
	return r.make(ctx, targets)
}

// make writes all files of the release.
func (r *release) make(ctx context.Context, targets []target) error {
	if err := emptyFolder(r.out); err != nil {
		return err
	}
	kind := "snapshot"
	if r.Tag != "" {
		kind = "release"
	}
	fmt.Printf("%s %s of %s\n", kind, r.Version, r.Commit)
	texts, err := r.texts(ctx)
	if err != nil {
		return err
	}
	var builds []*build
	for _, t := range targets {
		b, err := r.build(ctx, t)
		if err != nil {
			return err
		}
		if err := r.describe(ctx, b); err != nil {
			return fmt.Errorf("%s: %w", t, err)
		}
		builds = append(builds, b)
		if err := errors.Join(r.writeSBOM(b), r.writeArchive(b, texts)); err != nil {
			return fmt.Errorf("%s: %w", t, err)
		}
		if t.OS == "linux" {
			if err := r.writePackages(b, texts); err != nil {
				return fmt.Errorf("%s: %w", t, err)
			}
		}
	}
	return errors.Join(r.writeImage(builds), r.writeCask(), r.writeInstaller(), r.writeChecksums(ctx))
}

// emptyFolder creates a folder and removes only the files that an earlier release left in it.
func emptyFolder(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		name := e.Name()
		if e.IsDir() || !strings.HasPrefix(name, "holdfast") && !strings.HasPrefix(name, "checksums.txt") && name != "install.sh" {
			return fmt.Errorf("%s contains %s, which is not a file of a release\nhint: -out with an empty folder", dir, name)
		}
	}
	for _, e := range entries {
		if err := os.Remove(filepath.Join(dir, e.Name())); err != nil {
			return err
		}
	}
	return nil
}

// name returns the name of a file of this release.
func (r *release) name(t target, ending string) string {
	return "holdfast_" + r.Version + "_" + t.OS + "_" + t.Arch + ending
}

// write writes a file of the release and prints its name.
func (r *release) write(name string, data []byte, mode os.FileMode) error {
	fmt.Printf("  %-60s %9d\n", name, len(data))
	return os.WriteFile(filepath.Join(r.out, name), data, mode)
}
