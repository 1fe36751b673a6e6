"""The part that is no stream: a model is fitted to the ratings as they are now (MLlib's ALS)."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

SEED = 7
# As many as there are tastes among the people. With more, the model learns single accidents by heart.
TASTES = 3


def top_products(ratings: DataFrame, *, count: int) -> DataFrame:
    """Per person the products to show: those that are liked by people of the same taste, and not seen yet."""
    from pyspark.ml.recommendation import ALS
    from pyspark.sql import functions as f
    from pyspark.sql.window import Window

    model = ALS(
        userCol="person",
        itemCol="product",
        ratingCol="views",
        implicitPrefs=True,
        rank=TASTES,
        maxIter=8,
        numUserBlocks=1,
        numItemBlocks=1,
        seed=SEED,
    ).fit(ratings)
    everything = ratings.select("person").distinct().crossJoin(ratings.select("product").distinct())
    unseen = everything.join(ratings, ["person", "product"], "left_anti")
    best = Window.partitionBy("person").orderBy(f.desc("prediction"), "product")
    ranked = model.transform(unseen).withColumn("place", f.row_number().over(best))
    answers = ranked.where(f.col("place") <= count).groupBy("person")
    in_order = f.sort_array(f.collect_list(f.struct("place", "product")))
    return answers.agg(in_order["product"].cast("array<int>").alias("products"))
