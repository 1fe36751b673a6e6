// franz-go against the broker in the first argument. Prints one line per check, "ok NAME" or "FAILED NAME: REASON".
package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

const patience = 20 * time.Second

var bootstrap string

type check struct {
	name string
	run  func(ctx context.Context, admin *kadm.Client) error
}

func main() {
	bootstrap = os.Args[1]
	client := connect()
	defer client.Close()
	admin := kadm.NewClient(client)
	for _, c := range slices.Concat(producerChecks(), consumerChecks(), adminChecks()) {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		if err := c.run(ctx, admin); err != nil {
			fmt.Printf("FAILED %s: %s\n", c.name, strings.ReplaceAll(err.Error(), "\n", " "))
		} else {
			fmt.Printf("ok %s\n", c.name)
		}
		cancel()
	}
}

func producerChecks() []check {
	idempotent := []kgo.Opt{}
	withAcks := func(acks kgo.Acks) []kgo.Opt {
		return []kgo.Opt{kgo.RequiredAcks(acks), kgo.DisableIdempotentWrite()}
	}
	with := func(codec kgo.CompressionCodec) []kgo.Opt {
		return []kgo.Opt{kgo.ProducerBatchCompression(codec), kgo.ProducerLinger(20 * time.Millisecond)}
	}
	return []check{
		{"producer writes with acks=0", writesAreReadBack(withAcks(kgo.NoAck()))},
		{"producer writes with acks=1", writesAreReadBack(withAcks(kgo.LeaderAck()))},
		{"producer writes with acks=all", writesAreReadBack(withAcks(kgo.AllISRAcks()))},
		{"producer is idempotent", writesAreReadBack(idempotent)},
		{"producer compresses with gzip", writesAreReadBack(with(kgo.GzipCompression()))},
		{"producer compresses with snappy", writesAreReadBack(with(kgo.SnappyCompression()))},
		{"producer compresses with lz4", writesAreReadBack(with(kgo.Lz4Compression()))},
		{"producer compresses with zstd", writesAreReadBack(with(kgo.ZstdCompression()))},
		{"producer keeps keys headers timestamps and nulls", everyPartOfARecordIsKept},
		{"producer is refused too large a batch", func(ctx context.Context, admin *kadm.Client) error {
			topic, err := newTopic(ctx, admin, 1, map[string]*string{"max.message.bytes": kadm.StringPtr("1000")})
			if err != nil {
				return err
			}
			plain := kgo.ProducerBatchCompression(kgo.NoCompression())
			return refused(kerr.MessageTooLarge, write(ctx, topic, []string{strings.Repeat("x", 2000)}, plain))
		}},
		{"producer makes an unknown topic", func(ctx context.Context, _ *kadm.Client) error {
			return write(ctx, newName(), []string{"a"}, kgo.AllowAutoTopicCreation())
		}},
	}
}

func writesAreReadBack(options []kgo.Opt) func(context.Context, *kadm.Client) error {
	return func(ctx context.Context, admin *kadm.Client) error {
		topic, err := newTopic(ctx, admin, 1, nil)
		if err != nil {
			return err
		}
		var values []string
		for n := range 300 {
			values = append(values, fmt.Sprintf("value %d", n))
		}
		if err := write(ctx, topic, values, options...); err != nil {
			return err
		}
		records, err := read(ctx, topic, kgo.NewOffset().AtStart(), len(values))
		return cmp(err, values, texts(records))
	}
}

func everyPartOfARecordIsKept(ctx context.Context, admin *kadm.Client) error {
	topic, err := newTopic(ctx, admin, 1, nil)
	if err != nil {
		return err
	}
	headers := []kgo.RecordHeader{{Key: "trace", Value: []byte("1")}, {Key: "trace", Value: []byte("2")}}
	stamp := time.UnixMilli(1_700_000_000_123)
	full := &kgo.Record{Topic: topic, Key: []byte("k"), Value: []byte("v"), Headers: headers, Timestamp: stamp}
	tombstone := &kgo.Record{Topic: topic, Key: []byte("tombstone"), Value: nil}
	client := connect()
	defer client.Close()
	if err := client.ProduceSync(ctx, full, tombstone).FirstErr(); err != nil {
		return err
	}
	records, err := read(ctx, topic, kgo.NewOffset().AtStart(), 2)
	if err != nil {
		return err
	}
	return errors.Join(
		cmp(nil, "k=v", string(records[0].Key)+"="+string(records[0].Value)),
		cmp(nil, headers, records[0].Headers),
		cmp(nil, stamp.UnixMilli(), records[0].Timestamp.UnixMilli()),
		cmp(nil, true, records[1].Value == nil),
	)
}

func consumerChecks() []check {
	starting := func(offset kgo.Offset, wanted []string, options ...kgo.Opt) func(context.Context, *kadm.Client) error {
		return func(ctx context.Context, admin *kadm.Client) error {
			topic, err := topicOf(ctx, admin, 10)
			if err != nil {
				return err
			}
			records, err := read(ctx, topic, offset, len(wanted), options...)
			return cmp(err, wanted, texts(records))
		}
	}
	tail := []string{"6", "7", "8", "9"}
	return []check{
		{"consumer starts at an offset", starting(kgo.NewOffset().At(6), tail)},
		{"consumer starts at a timestamp", starting(kgo.NewOffset().AfterMilli(1006), tail)},
		{"consumer starts before the end", starting(kgo.NewOffset().AtEnd().Relative(-4), tail)},
		{"consumer reads only what is committed", starting(kgo.NewOffset().At(6), tail,
			kgo.FetchIsolationLevel(kgo.ReadCommitted()))},
		{"consumer reads without sessions", starting(kgo.NewOffset().At(6), tail, kgo.DisableFetchSessions())},
		{"consumer reads batches larger than its limits", starting(kgo.NewOffset().At(6), tail,
			kgo.FetchMaxBytes(1), kgo.FetchMaxPartitionBytes(1))},
		{"consumer waits for new data", waitingFetchWakesUp},
	}
}

func waitingFetchWakesUp(ctx context.Context, admin *kadm.Client) error {
	topic, err := newTopic(ctx, admin, 1, nil)
	if err != nil {
		return err
	}
	wrote := make(chan error, 1)
	go func() {
		time.Sleep(300 * time.Millisecond)
		wrote <- write(ctx, topic, []string{"news"})
	}()
	records, err := read(ctx, topic, kgo.NewOffset().At(0), 1, kgo.FetchMaxWait(2*patience))
	return errors.Join(<-wrote, cmp(err, []string{"news"}, texts(records)))
}

func adminChecks() []check {
	return []check{
		{"admin makes lists and deletes topics", topicsAreMadeAndDeleted},
		{"admin is refused bad topics", func(ctx context.Context, admin *kadm.Client) error {
			topic, err := newTopic(ctx, admin, 1, nil)
			if err != nil {
				return err
			}
			_, exists := admin.CreateTopic(ctx, 1, 1, nil, topic)
			_, invalid := admin.CreateTopic(ctx, 1, 1, nil, "white space")
			_, config := admin.CreateTopic(ctx, 1, 1, map[string]*string{"no.such": kadm.StringPtr("1")}, newName())
			_, replicas := admin.CreateTopic(ctx, 1, 5, nil, newName())
			_, unknown := admin.DeleteTopic(ctx, newName())
			return errors.Join(
				refused(kerr.TopicAlreadyExists, exists),
				refused(kerr.InvalidTopicException, invalid),
				refused(kerr.InvalidConfig, config),
				refused(kerr.InvalidReplicationFactor, replicas),
				refused(kerr.UnknownTopicOrPartition, unknown),
			)
		}},
		{"admin adds partitions", partitionsAreAdded},
		{"admin describes and alters configs", configsAreAltered},
		{"admin lists offsets and deletes records", offsetsAreListed},
		{"admin describes cluster producers and directories", clusterIsDescribed},
	}
}

func topicsAreMadeAndDeleted(ctx context.Context, admin *kadm.Client) error {
	topic, err := newTopic(ctx, admin, 3, nil)
	if err != nil {
		return err
	}
	listed, err := admin.ListTopics(ctx)
	if err := cmp(err, 3, len(listed[topic].Partitions)); err != nil {
		return err
	}
	if _, err := admin.DeleteTopic(ctx, topic); err != nil {
		return err
	}
	return eventually(ctx, func() error {
		listed, err := admin.ListTopics(ctx)
		return cmp(err, false, listed.Has(topic))
	})
}

func partitionsAreAdded(ctx context.Context, admin *kadm.Client) error {
	topic, err := newTopic(ctx, admin, 1, nil)
	if err != nil {
		return err
	}
	made, err := admin.UpdatePartitions(ctx, 4, topic)
	if err := errors.Join(err, made.Error()); err != nil {
		return err
	}
	return eventually(ctx, func() error {
		listed, err := admin.ListTopics(ctx, topic)
		return cmp(err, 4, len(listed[topic].Partitions))
	})
}

func configsAreAltered(ctx context.Context, admin *kadm.Client) error {
	topic, err := newTopic(ctx, admin, 1, nil)
	if err != nil {
		return err
	}
	change := []kadm.AlterConfig{{Op: kadm.SetConfig, Name: "retention.ms", Value: kadm.StringPtr("4321")}}
	if _, err := admin.AlterTopicConfigs(ctx, change, topic); err != nil {
		return err
	}
	return eventually(ctx, func() error {
		described, err := admin.DescribeTopicConfigs(ctx, topic)
		if err != nil {
			return err
		}
		at := slices.IndexFunc(described[0].Configs, func(c kadm.Config) bool { return c.Key == "retention.ms" })
		return cmp(nil, "4321", described[0].Configs[at].MaybeValue())
	})
}

func offsetsAreListed(ctx context.Context, admin *kadm.Client) error {
	topic, err := topicOf(ctx, admin, 10)
	if err != nil {
		return err
	}
	offsets := kadm.Offsets{}
	offsets.AddOffset(topic, 0, 3, -1)
	if deleted, err := admin.DeleteRecords(ctx, offsets); err != nil {
		return errors.Join(err, deleted.Error())
	}
	start, err1 := admin.ListStartOffsets(ctx, topic)
	end, err2 := admin.ListEndOffsets(ctx, topic)
	latest, err3 := admin.ListMaxTimestampOffsets(ctx, topic)
	byTime, err4 := admin.ListOffsetsAfterMilli(ctx, 1005, topic)
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		return err
	}
	found := []int64{start[topic][0].Offset, end[topic][0].Offset, latest[topic][0].Offset, byTime[topic][0].Offset}
	return cmp(nil, []int64{3, 10, 9, 5}, found)
}

func clusterIsDescribed(ctx context.Context, admin *kadm.Client) error {
	topic, err := topicOf(ctx, admin, 3)
	if err != nil {
		return err
	}
	brokers, err1 := admin.ListBrokers(ctx)
	set := kadm.TopicsSet{}
	set.Add(topic, 0)
	producers, err2 := admin.DescribeProducers(ctx, set)
	directories, err3 := admin.DescribeAllLogDirs(ctx, set)
	if err := errors.Join(err1, err2, err3); err != nil {
		return err
	}
	size := int64(0)
	directories.Each(func(dir kadm.DescribedLogDir) { size += dir.Size() })
	return errors.Join(
		cmp(nil, bootstrap, fmt.Sprintf("%s:%d", brokers[0].Host, brokers[0].Port)),
		cmp(nil, 1, len(producers.SortedProducers())),
		cmp(nil, true, size > 0),
	)
}

func connect(options ...kgo.Opt) *kgo.Client {
	client, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(bootstrap)}, options...)...)
	if err != nil {
		panic(err)
	}
	return client
}

// write sends records of the timestamps 1000, 1001, ... to partition 0.
func write(ctx context.Context, topic string, values []string, options ...kgo.Opt) error {
	client := connect(append(options, kgo.RecordPartitioner(kgo.ManualPartitioner()))...)
	defer client.Close()
	var records []*kgo.Record
	for n, value := range values {
		stamp := time.UnixMilli(1000 + int64(n))
		records = append(records, &kgo.Record{Topic: topic, Value: []byte(value), Timestamp: stamp})
	}
	return client.ProduceSync(ctx, records...).FirstErr()
}

// read takes records of partition 0, which it is assigned by hand.
func read(ctx context.Context, topic string, from kgo.Offset, count int, options ...kgo.Opt) ([]*kgo.Record, error) {
	place := map[string]map[int32]kgo.Offset{topic: {0: from}}
	client := connect(append(options, kgo.ConsumePartitions(place))...)
	defer client.Close()
	var records []*kgo.Record
	for len(records) < count {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return records, fmt.Errorf("after %d of %d records: %w", len(records), count, err)
		}
		records = append(records, fetches.Records()...)
	}
	return records, nil
}

func newName() string {
	return fmt.Sprintf("compat-go-%08x", rand.Uint32())
}

func newTopic(ctx context.Context, admin *kadm.Client, partitions int32, configs map[string]*string) (string, error) {
	name := newName()
	if _, err := admin.CreateTopic(ctx, partitions, 1, configs, name); err != nil {
		return name, err
	}
	return name, eventually(ctx, func() error {
		listed, err := admin.ListTopics(ctx, name)
		return errors.Join(err, listed.Error())
	})
}

// topicOf makes a topic whose values are "0", "1", ...
func topicOf(ctx context.Context, admin *kadm.Client, count int) (string, error) {
	topic, err := newTopic(ctx, admin, 1, nil)
	if err != nil {
		return topic, err
	}
	var values []string
	for n := range count {
		values = append(values, fmt.Sprint(n))
	}
	return topic, write(ctx, topic, values)
}

func texts(records []*kgo.Record) []string {
	var values []string
	for _, record := range records {
		values = append(values, string(record.Value))
	}
	return values
}

func cmp(err error, wanted, found any) error {
	if err != nil {
		return err
	}
	if !reflect.DeepEqual(wanted, found) {
		return fmt.Errorf("wanted %v, found %v", wanted, found)
	}
	return nil
}

func refused(wanted, found error) error {
	if !errors.Is(found, wanted) {
		return fmt.Errorf("wanted the error %v, found %v", wanted, found)
	}
	return nil
}

// eventually repeats: the controller has answered, the broker may learn of it a moment later.
func eventually(ctx context.Context, attempt func() error) error {
	for {
		err := attempt()
		if err == nil || ctx.Err() != nil {
			return err
		}
		time.Sleep(20 * time.Millisecond)
	}
}
