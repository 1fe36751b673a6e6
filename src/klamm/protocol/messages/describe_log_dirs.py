"""DescribeLogDirs, API 35."""

from klamm.protocol.declare import (
    Array,
    Bool,
    Int16,
    Int32,
    Int64,
    NullableArray,
    String,
    field,
    message,
    struct,
)


@struct
class DescribableLogDirTopic:
    topic: String = ""
    partitions: Array[Int32] = []


@message(api_key=35, versions="1-5", flexible="2+")
class DescribeLogDirsRequest:
    """Ask what lies in the log directories of a broker."""

    topics: NullableArray[DescribableLogDirTopic] = []


@struct
class DescribeLogDirsPartition:
    partition_index: Int32 = 0
    partition_size: Int64 = 0
    offset_lag: Int64 = 0
    is_future_key: Bool = False


@struct
class DescribeLogDirsTopic:
    name: String = ""
    partitions: Array[DescribeLogDirsPartition] = []


@struct
class DescribeLogDirsResult:
    error_code: Int16 = 0
    log_dir: String = ""
    topics: Array[DescribeLogDirsTopic] = []
    total_bytes: Int64 = field(since=4, default=-1)
    usable_bytes: Int64 = field(since=4, default=-1)
    is_cordoned: Bool = field(since=5, default=False)


@message(api_key=35, versions="1-5", flexible="2+")
class DescribeLogDirsResponse:
    """Log directories with their sizes and the replicas in them."""

    throttle_time_ms: Int32 = 0
    error_code: Int16 = field(since=3, default=0)
    results: Array[DescribeLogDirsResult] = []
