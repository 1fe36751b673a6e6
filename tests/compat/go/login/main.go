// franz-go by TLS: login BOOTSTRAP TOPIC CA [CERTIFICATE KEY] writes a record and prints what it reads.
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

func main() {
	if err := run(os.Args[1], os.Args[2], os.Args[3], os.Args[4:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(bootstrap, topic, ca string, own []string) error {
	pem, err := os.ReadFile(ca)
	if err != nil {
		return err
	}
	config := &tls.Config{RootCAs: x509.NewCertPool()}
	config.RootCAs.AppendCertsFromPEM(pem)
	if len(own) == 2 {
		pair, err := tls.LoadX509KeyPair(own[0], own[1])
		if err != nil {
			return err
		}
		config.Certificates = []tls.Certificate{pair}
	}
	client, err := kgo.NewClient(
		kgo.SeedBrokers(bootstrap),
		kgo.DialTLSConfig(config),
		kgo.ConsumeTopics(topic),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
	)
	if err != nil {
		return err
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	record := &kgo.Record{Topic: topic, Value: []byte("from franz-go")}
	if err := client.ProduceSync(ctx, record).FirstErr(); err != nil {
		return err
	}
	fetches := client.PollFetches(ctx)
	if err := fetches.Err(); err != nil {
		return err
	}
	fmt.Println(string(fetches.Records()[0].Value))
	return nil
}
