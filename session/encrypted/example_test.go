package encrypted_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/zalando/go-keyring"

	"filippo.io/age"

	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/encrypted"
	"github.com/holdfast-dev/holdfast/session/memory"
)

func ExampleNew() {
	ctx := context.Background()
	id, _ := age.GenerateX25519Identity() // as age-keygen makes one
	key, err := encrypted.Identities(strings.NewReader(id.String()))
	if err != nil {
		fmt.Println(err)
		return
	}
	inner := memory.New()
	store, err := encrypted.New(ctx, inner, key, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	l, err := session.New(store, nil).Create(ctx, session.Opened{SessionID: "s", Title: "private"})
	if err == nil {
		err = l.Close()
	}
	m, _ := session.New(store, nil).Get(ctx, "s")
	fmt.Println(m.Title, err)
	m, _ = session.New(inner, nil).Get(ctx, "s")
	fmt.Println(strings.Contains(m.Title, "private"))
	// Output:
	// private <nil>
	// false
}

func ExampleNewKeychain() {
	keyring.MockInit() // here: in memory
	_, err := encrypted.NewKeychain("work")
	fmt.Println(err)
	_, err = encrypted.Keychain("work")
	fmt.Println(err)
	// Output:
	// <nil>
	// <nil>
}

func ExampleIdentityFile() {
	_, err := encrypted.IdentityFile(filepath.Join(os.TempDir(), "no such key"))
	fmt.Println(session.Hint(err) != "")
	// Output:
	// true
}
